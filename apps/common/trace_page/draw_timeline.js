// The timeline: a ruler, names at the left, and every track's slices. What is narrower than a pixel
// is drawn once a pixel: the work grows with the screen, not with the trace.

const NAME_WIDTH = 258;
const RULER_HEIGHT = 24;

// `page` is the state of the page (main.js); `size` {width, height} the canvas in CSS pixels.
function drawTimeline(context, page, size) {
  const {palette, view, layout, scroll} = page;
  view.left = NAME_WIDTH;
  view.width = Math.max(1, size.width - NAME_WIDTH - 6);
  const rows = layout.rows.filter(
      (row) => row.y + row.height > scroll && row.y < scroll + size.height - RULER_HEIGHT);
  context.save();
  context.translate(0, RULER_HEIGHT - scroll);
  for (const row of rows) drawRowBackground(context, page, row, size);
  drawGrid(context, page, size);
  context.save();
  context.beginPath();
  context.rect(NAME_WIDTH, scroll, size.width, size.height);
  context.clip();
  for (const row of rows) drawRow(context, page, row);
  drawArrows(context, page);
  drawMarks(context, page, size);
  drawChosen(context, page);
  context.restore();
  for (const row of rows) drawRowName(context, page, row);
  context.restore();
  drawRuler(context, page, size);
  drawLine(context, NAME_WIDTH - 0.5, 0, NAME_WIDTH - 0.5, size.height, palette.line);
}

function drawRow(context, page, row) {
  if (row.type === 'track') {
    row.track.lanes.forEach(
        (lane, index) => drawLane(context, page, lane, row.y + 2 + index * LANE_HEIGHT));
  } else if (row.type === 'region') {
    drawRegion(context, page, row);
  }
}

function drawRowBackground(context, page, row, size) {
  const {palette} = page;
  if (row.type === 'node') {
    context.fillStyle = palette.band;
    context.fillRect(0, row.y, size.width, row.height);
  } else {
    drawLine(
        context, 0, row.y + row.height - 0.5, size.width, row.y + row.height - 0.5, palette.line,
        0.5);
  }
}

function drawRowName(context, page, row) {
  const {palette} = page;
  const middle = row.y + row.height / 2;
  if (row.type === 'node') {
    context.font = BOLD_FONT;
    drawText(
        context, (row.open ? '▾ ' : '▸ ') + row.node.name, 10, middle, palette.text,
        NAME_WIDTH - 20);
    context.font = FONT;
  } else if (row.type === 'track') {
    drawText(context, row.track.name, 24, middle, palette.text, NAME_WIDTH - 32);
  } else {
    drawRegionName(context, page, row);
  }
}

function drawGrid(context, page, size) {
  const {view, palette, scroll} = page;
  for (const at of ticks(view.from, view.span, view.width / 110).at) {
    const x = Math.round(view.x(at)) + 0.5;
    if (x > NAME_WIDTH) drawLine(context, x, scroll, x, scroll + size.height, palette.line, 0.5);
  }
}

function drawRuler(context, page, size) {
  const {view, palette} = page;
  context.fillStyle = palette.panel;
  context.fillRect(0, 0, size.width, RULER_HEIGHT);
  const {step, at} = ticks(view.from, view.span, view.width / 110);
  const largest = at.reduce((most, ns) => Math.max(most, Math.abs(ns)), 1);
  for (const ns of at) {
    const x = view.x(ns);
    if (x < NAME_WIDTH) continue;
    drawLine(context, x, RULER_HEIGHT - 6, x, RULER_HEIGHT, palette.muted);
    drawText(context, formatTick(ns, step, largest), x + 4, RULER_HEIGHT / 2, palette.text);
  }
  context.fillStyle = palette.panel;
  context.fillRect(0, 0, NAME_WIDTH, RULER_HEIGHT);
  const says = page.simulated ? 'simulated time →' : 'time →';
  drawText(context, says, 10, RULER_HEIGHT / 2, palette.muted, NAME_WIDTH - 14);
  drawLine(context, 0, RULER_HEIGHT - 0.5, size.width, RULER_HEIGHT - 0.5, palette.line);
}

// Kinds that the legend hides are pale, and what the search did not find.
function isPale(page, event) {
  if (page.hidden.has(page.model.category[event])) return true;
  return page.found !== null && !page.found.has(event);
}

function drawLane(context, page, lane, y) {
  const {model, view} = page;
  const last = view.left + view.width;
  let i = firstAtLeast(lane.latest, view.from);
  while (i < lane.events.length) {
    const event = lane.events[i];
    const x = Math.max(view.left - 2, view.x(model.start[event]));
    if (x > last) break;
    const width = Math.max(1.5, Math.min(last + 2, view.x(model.end[event])) - x);
    drawSlice(context, page, event, x, y, width);
    i += 1;
    if (width > 1.5) continue;
    // Everything else that ends before the next pixel begins is on this one.
    const next = firstAtLeast(lane.latest, view.ns(x + 1), i);
    if (next > i) i = drawFound(context, page, lane, i, next, x, y);
  }
}

// A match, or what went wrong, must not be lost among what shares its pixel.
function drawFound(context, page, lane, from, to, x, y) {
  for (let i = from; i < to && i < from + 500; ++i) {
    const event = lane.events[i];
    const {trouble, hiccups} = page.model;
    if ((page.found !== null && page.found.has(event)) || trouble.has(event) ||
        hiccups.has(event)) {
      drawSlice(context, page, event, x, y, 1.5);
      break;
    }
  }
  return to;
}

function colourOf(page, event) {
  const {model, palette} = page;
  if (model.trouble.has(event)) return palette.bad;
  return model.hiccups.has(event) ? palette.hiccup : palette.category[model.category[event]];
}

function drawSlice(context, page, event, x, y, width) {
  const {model, palette} = page;
  const category = model.category[event];
  const pale = isPale(page, event);
  context.globalAlpha = pale ? 0.13 : 1;
  context.fillStyle = colourOf(page, event);
  context.fillRect(x, y, width, LANE_HEIGHT - 2);
  if (!pale && width > 26) {
    drawText(
        context, String(model.raw[event].name), x + 4, y + LANE_HEIGHT / 2 - 0.5,
        palette['on-colour'], width - 7);
  }
  context.globalAlpha = 1;
}

const MOST_LINES = 60;
const MOST_LABELS = 12;

// A sign where something went wrong, and a line over the whole picture; where it is too much for
// that, signs only, as many as have room.
function drawMarks(context, page, size) {
  const {model, view, palette, scroll} = page;
  const from = lowerBound(model.marks, model.start, view.from);
  const count = lowerBound(model.marks, model.start, view.to) - from;
  const free = new Map();  // by track: where the next sign has room
  for (let i = from; i < from + count; ++i) {
    const event = model.marks[i];
    const x = view.x(model.start[event]);
    if (isPale(page, event)) continue;
    const check = model.category[event] === CATEGORY.check;
    const colour = check ? palette.category[CATEGORY.check] : palette.bad;
    if (count <= MOST_LINES) {
      drawLine(context, x, scroll, x, scroll + size.height, colour, 1, [3, 4]);
    }
    const top = eventTop(model, page.layout, event);
    if (top === undefined || x < free.get(model.track[event])) continue;
    const middle = top + LANE_HEIGHT / 2 - 1;
    drawSign(context, signOf(model, event), x, middle, colour, palette['on-colour']);
    if (count <= MOST_LABELS) drawLabel(context, page, event, x, middle, colour);
    free.set(model.track[event], x + 9);
  }
}

// What went wrong, in words, where its track has room for them: at the right of the sign, or else
// at the left.
function drawLabel(context, page, event, x, y, colour) {
  const {model, view} = page;
  const {events} = model.tracks[model.track[event]];
  const at = lowerBound(events, model.start, model.start[event]);
  const after = Math.max(x, view.x(model.end[event])) + 11;
  const next = at + 1 < events.length ? view.x(model.start[events[at + 1]]) : Infinity;
  const before = at > 0 ? view.x(model.end[events[at - 1]]) : view.left;
  const text = eventText(model, event);
  const width = textWidth(context, text);
  if (Math.min(next, view.left + view.width) - after > width + 4)
    drawText(context, text, after, y, colour);
  else if (x - 10 - before > width + 4)
    drawText(context, text, x - 10, y, colour, Infinity, 'right');
}

// The chosen event and everything of its operation have a frame; so has the event under the mouse.
function drawChosen(context, page) {
  const {model, palette} = page;
  const frame = (event, colour, width) => {
    const top = eventTop(model, page.layout, event);
    if (top === undefined) return;
    const x = page.view.x(model.start[event]);
    const w = Math.max(3, page.view.x(model.end[event]) - x);
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.strokeRect(x - 1, top - 1, w + 2, LANE_HEIGHT);
  };
  const events = eventsOfChosen(page);
  for (const event of events) frame(event, palette.text, events.length > 30 ? 0.75 : 1.5);
  if (page.chosen >= 0) frame(page.chosen, palette.match, 3);
  if (page.hovered >= 0) frame(page.hovered, palette.text, 1);
}
