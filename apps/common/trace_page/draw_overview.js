// The strip above the timeline: how many events there are at each moment of the whole trace, what
// went wrong, what was found, and which part the timeline shows.

function histogram(model, view, width) {
  const counts = new Float64Array(width);
  for (let event = 0; event < model.count; ++event) {
    const x = Math.floor(view.x(model.start[event]));
    if (x >= 0 && x < width) counts[x] += 1;
  }
  return counts;
}

// The axis of the strip, below the timeline's own.
function overviewAxis(page) {
  const axis = new View(page.model.span);
  axis.left = NAME_WIDTH;
  axis.width = Math.max(1, page.view.width);
  return axis;
}

function drawOverview(context, page, size) {
  const {palette, model} = page;
  const axis = overviewAxis(page);
  if (page.histogram === null || page.histogram.length !== Math.ceil(size.width)) {
    page.histogram = histogram(model, axis, Math.ceil(size.width));
  }
  context.fillStyle = palette.panel;
  context.fillRect(0, 0, size.width, size.height);
  const most = page.histogram.reduce((a, b) => Math.max(a, b), 1);
  context.fillStyle = palette.muted;
  page.histogram.forEach((count, x) => {
    if (count === 0) return;
    const height = 4 + (size.height - 10) * Math.log1p(count) / Math.log1p(most);
    context.fillRect(x, size.height - height, 1, height);
  });
  drawTicksOf(context, axis, model, model.marks, palette.bad, size.height, 8);
  if (page.matches.length > 0)
    drawTicksOf(
        context, axis, model, page.matches, palette.match, size.height / 2, size.height / 2);
  drawWindow(context, page, axis, size);
  drawText(
      context, `the whole trace: ${formatTime(model.span)}`, 10, size.height / 2 - 8, palette.text,
      NAME_WIDTH - 16);
  drawText(
      context, 'events over time; drag to move', 10, size.height / 2 + 8, palette.muted,
      NAME_WIDTH - 16);
}

function drawTicksOf(context, axis, model, events, colour, bottom, height) {
  context.fillStyle = colour;
  let last = -1;
  for (const event of events) {
    const x = Math.round(axis.x(model.start[event]));
    if (x !== last) context.fillRect(x - 1, bottom - height, 2, height);
    last = x;
  }
}

function drawWindow(context, page, axis, size) {
  const {palette} = page;
  const seen = page.mode === 'timeline' ? [page.view.from, page.view.to] : page.sequence.seen;
  const from = Math.max(axis.left, axis.x(seen[0]));
  const to = Math.min(axis.left + axis.width, axis.x(seen[1]));
  context.globalAlpha = 0.1;
  context.fillStyle = palette.shade;
  context.fillRect(axis.left, 0, Math.max(0, from - axis.left), size.height);
  context.fillRect(to, 0, Math.max(0, axis.left + axis.width - to), size.height);
  context.globalAlpha = 1;
  context.strokeStyle = palette.accent;
  context.lineWidth = 2;
  context.strokeRect(from, 1, Math.max(3, to - from), size.height - 2);
}
