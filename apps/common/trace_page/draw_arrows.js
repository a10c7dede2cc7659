// Arrows from cause to effect: of the chosen operation always; of all operations when few enough
// are on the screen to be followed by eye.

const MOST_EVENTS_WITH_ARROWS = 400;

function eventsOfChosen(page) {
  if (page.chosen < 0) return [];
  const operation = page.model.operation[page.chosen];
  return operation < 0 ? [page.chosen] : page.model.operations[operation].events;
}

function operationsInView(page) {
  const {model, view} = page;
  const operations = new Set();
  const from = firstAtLeast(model.start, view.from);
  for (let event = from; event < model.count && model.start[event] <= view.to; ++event) {
    if (model.operation[event] >= 0) operations.add(model.operation[event]);
  }
  return operations;
}

function drawArrows(context, page) {
  const {model, palette} = page;
  const chosen = page.chosen < 0 ? -1 : model.operation[page.chosen];
  page.arrowsLeftOut = eventsInView(model, page.view) > MOST_EVENTS_WITH_ARROWS;
  if (!page.arrowsLeftOut) {
    context.globalAlpha = chosen < 0 ? 0.55 : 0.18;
    for (const operation of operationsInView(page)) {
      if (operation !== chosen)
        drawOperation(context, page, model.operations[operation], palette.muted, 1);
    }
    context.globalAlpha = 1;
  }
  if (chosen >= 0) {
    const operation = model.operations[chosen];
    drawOperation(context, page, operation, palette.accent, operation.events.length > 30 ? 1 : 2);
  }
}

function drawOperation(context, page, operation, colour, width) {
  for (const [from, to] of cachedArrows(page, operation)) {
    if (!page.hidden.has(page.model.category[from]) && !page.hidden.has(page.model.category[to])) {
      drawArrow(context, page, from, to, colour, width);
    }
  }
}

function cachedArrows(page, operation) {
  if (operation.arrows === undefined) operation.arrows = arrowsOf(page.model, operation);
  return operation.arrows;
}

function drawArrow(context, page, from, to, colour, width) {
  const {model, view, layout} = page;
  const [top1, top2] = [eventTop(model, layout, from), eventTop(model, layout, to)];
  if (top1 === undefined || top2 === undefined || from === to) return;
  const x1 = view.x(Math.min(model.end[from], model.start[to]));
  const x2 = view.x(model.start[to]);
  if (Math.max(x1, x2) < view.left - 50 || Math.min(x1, x2) > view.left + view.width + 50) return;
  const [y1, y2] = [top1 + LANE_HEIGHT / 2 - 1, top2 + LANE_HEIGHT / 2 - 1];
  const bend = Math.min(60, Math.max(8, Math.abs(x2 - x1) / 2));
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  context.moveTo(x1, y1);
  context.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
  context.stroke();
  drawArrowHead(
      context, x2, y2, y1 === y2 || x2 - x1 > 12 ? 0 : Math.sign(y2 - y1) * 0.9, colour,
      4 + 1.5 * width);
}
