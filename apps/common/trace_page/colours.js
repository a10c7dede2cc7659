// How many pixels and colours an image has, and how much of it is of the most frequent colour: an
// empty page has few, and almost all of it. Each <img> of the page is counted; the lines are for
// page_test.sh.

function count(image) {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
  const context = canvas.getContext('2d');
  context.drawImage(image, 0, 0);
  const pixels =
      new Uint32Array(context.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
  const colours = new Map();
  for (const pixel of pixels) colours.set(pixel, (colours.get(pixel) || 0) + 1);
  const most = Math.max(...colours.values());
  return `${image.alt}: ${canvas.width}x${canvas.height} ${colours.size} colours ${
      Math.round(100 * most / pixels.length)} percent`;
}

window.addEventListener('load', () => {
  const lines = Array.from(document.images, count);
  document.body.replaceChildren(
      ...lines.map((line) => Object.assign(document.createElement('p'), {textContent: line})));
});
