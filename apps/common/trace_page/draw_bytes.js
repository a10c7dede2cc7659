// A region's lane: time from left to right, its bytes (or those that were written, where they are
// few) from top (the first) to bottom (the last). A mark is a placement; the pale area at its right
// are the bytes that have been there since.

const OPERATION_COLOURS = ['place', 'packet', 'post', 'completion', 'resume', 'object'];

function drawRegion(context, page, row) {
  const top = row.y + 3;
  const height = row.height - 7;
  context.fillStyle = page.palette.panel;
  context.fillRect(page.view.left, top, page.view.width, height);
  drawSince(context, page, row.region, top, height);
  drawPlacements(context, page, row.region, top, height);
}

function drawSince(context, page, region, top, height) {
  const {view, model, palette} = page;
  if (region.since === undefined || region.since.length !== height) {
    region.since = firstTouched(model, region, height);
  }
  context.globalAlpha = page.found === null ? 0.22 : 0.1;
  context.fillStyle = palette.category[CATEGORY.place];
  for (let row = 0; row < height; ++row) {
    if (region.since[row] > view.to) continue;
    const x = Math.max(view.left, view.x(region.since[row]));
    context.fillRect(x, top + row, view.left + view.width - x, 1);
  }
  context.globalAlpha = 1;
}

// The places of the screen that are drawn already: a trace can have many placements on one of them.
class Drawn {
  constructor(width, height) {
    this.width = Math.ceil(width) + 4;
    this.cells = new Uint8Array(this.width * (Math.ceil(height) + 1));
  }

  isNew(x, y) {
    const at = Math.max(0, Math.floor(x)) + this.width * Math.floor(y);
    const fresh = this.cells[at] === 0;
    this.cells[at] = 1;
    return fresh;
  }
}

function drawPlacements(context, page, region, top, height) {
  const {model, view, palette} = page;
  const drawn = new Drawn(view.width, height);
  const chosen = page.chosen < 0 ? -1 : model.operation[page.chosen];
  const later = [];
  for (let i = firstAtLeast(region.latest, view.from); i < region.places.length; ++i) {
    const event = region.places[i];
    if (model.start[event] > view.to) break;
    const {offset, bytes} = rangeOf(model, event);
    const x = view.x(model.start[event]);
    const y = Math.min(height - 2, (offset - region.shown.from) / region.shown.size * height);
    const box = [
      x, top + y, Math.max(3, view.x(model.end[event]) - x),
      Math.max(2, bytes / region.shown.size * height)
    ];
    if (chosen >= 0 && model.operation[event] === chosen) later.push(box);
    if (page.found === null ? !drawn.isNew(x - view.left, y) : !page.found.has(event)) continue;
    const colour =
        OPERATION_COLOURS[Math.max(0, model.operation[event]) % OPERATION_COLOURS.length];
    context.fillStyle = palette.category[CATEGORY[colour]];
    context.globalAlpha = isPale(page, event) ? 0.2 : 1;
    context.fillRect(...box);
  }
  context.globalAlpha = 1;
  for (const box of later) {
    context.fillStyle = palette.match;
    context.fillRect(...box);
    context.strokeStyle = palette.text;
    context.lineWidth = 1;
    context.strokeRect(...box);
  }
}

function drawRegionName(context, page, row) {
  const {palette} = page;
  const {region} = row;
  drawText(context, `${region.name}: its bytes`, 24, row.y + 14, palette.text, NAME_WIDTH - 84);
  const size = formatBytes(region.length);
  const {from, size: shown} = region.shown;
  const [first, last] = [from === 0 ? '0' : formatBytes(from), formatBytes(from + shown)];
  drawText(context, first, NAME_WIDTH - 6, row.y + 9, palette.muted, 70, 'right');
  drawText(context, last, NAME_WIDTH - 6, row.y + row.height - 10, palette.muted, 70, 'right');
  if (region.cover === undefined) region.cover = coverage(page.model, region);
  const {placed, again} = region.cover;
  drawText(
      context, `${formatBytes(placed)} of ${size} written`, 24, row.y + 30, palette.muted,
      NAME_WIDTH - 40);
  if (again > 0) {
    drawText(
        context, `${formatBytes(again)} more than once`, 24, row.y + 45, palette.hiccup,
        NAME_WIDTH - 84);
  }
}

// The placement at a point of a region's lane, or -1: the latest that covers the byte and lies
// within some pixels.
function placementAt(page, row, x, y) {
  const {model, view} = page;
  const {region} = row;
  const slack = region.shown.size / (row.height - 7);  // bytes of a pixel
  const byte = region.shown.from + (y - row.y - 3) * slack;
  const to = view.ns(x + 4);
  for (let i = lowerBound(region.places, model.start, to) - 1; i >= 0; --i) {
    const event = region.places[i];
    const {offset, bytes} = rangeOf(model, event);
    if (byte >= offset - slack && byte <= offset + bytes + slack) return event;
  }
  return -1;
}
