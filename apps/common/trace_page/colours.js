// How many colours a picture of the page has where the timeline or the diagram is drawn, and how
// much of that is of the most frequent one: where nothing is drawn, all of it. Each <img> of the
// page gets a line, which is for page_test.sh.

const DRAWN = {
  left: 250,
  top: 190,
  right: 1230,
  bottom: 960
};

function count(image) {
  const canvas = document.createElement('canvas');
  canvas.width = DRAWN.right - DRAWN.left;
  canvas.height = DRAWN.bottom - DRAWN.top;
  const context = canvas.getContext('2d');
  context.drawImage(image, -DRAWN.left, -DRAWN.top);
  const {data} = context.getImageData(0, 0, canvas.width, canvas.height);
  const pixels = new Uint32Array(data.buffer);
  const colours = new Map();
  for (const pixel of pixels) colours.set(pixel, (colours.get(pixel) || 0) + 1);
  const most = Math.round(100 * Math.max(...colours.values()) / pixels.length);
  const size = `${image.naturalWidth}x${image.naturalHeight}`;
  return `${image.alt}: ${size} ${colours.size} colours ${most} percent`;
}

window.addEventListener('load', () => {
  const lines = Array.from(document.images, count);
  document.body.replaceChildren(
      ...lines.map((line) => Object.assign(document.createElement('p'), {textContent: line})));
});
