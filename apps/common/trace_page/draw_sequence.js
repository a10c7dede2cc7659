// The sequence diagram: lifelines from top to bottom, arrows between them, the time at the left and
// notes at the right.

const STEP_HEIGHT = 24;
const SEQUENCE_HEADING = 34;
const TIME_WIDTH = 96;

function noteWidth(size) {
  return Math.min(280, size.width * 0.26);
}

function columnX(page, size, column) {
  const count = page.sequence.columns.columns.length;
  const room = Math.max(200, size.width - TIME_WIDTH - noteWidth(size));
  return TIME_WIDTH + room * (column + 0.5) / count;
}

function sequenceHeight(page) {
  return SEQUENCE_HEADING + page.sequence.rows.length * STEP_HEIGHT + 30;
}

// The rows on the screen, with where they are.
function visibleSteps(page, size) {
  const {rows} = page.sequence;
  const first = Math.max(0, Math.floor(page.scroll / STEP_HEIGHT) - 1);
  const last = Math.min(rows.length, first + Math.ceil(size.height / STEP_HEIGHT) + 2);
  const top = SEQUENCE_HEADING + STEP_HEIGHT / 2 - page.scroll + 8;
  const steps = [];
  for (let i = first; i < last; ++i) steps.push({row: rows[i], y: top + i * STEP_HEIGHT});
  const {model, sequence} = page;
  const timeAt = (index) => index < rows.length ? model.start[rows[index].event] : model.span;
  sequence.seen = [timeAt(first), timeAt(last)];
  return steps;
}

function drawSequence(context, page, size) {
  const {palette, sequence} = page;
  const steps = visibleSteps(page, size);
  const chosen = new Set(eventsOfChosen(page));
  for (const {row, y} of steps) drawHighlight(context, page, size, row, y, chosen);
  sequence.columns.columns.forEach((column, index) => {
    const x = columnX(page, size, index);
    const dashes = column.pid === null ? [6, 5] : [];
    drawLine(context, x, SEQUENCE_HEADING, x, size.height, palette.muted, 1.5, dashes);
  });
  for (const {row, y} of steps) drawStep(context, page, size, row, y);
  drawSequenceHeading(context, page, size);
}

// Behind the rows of the chosen operation, and the one under the mouse.
function drawHighlight(context, page, size, row, y, chosen) {
  if (row.phase || row.fold || !(chosen.has(row.event) || page.hovered === row.event)) return;
  const {match, band} = page.palette;
  context.fillStyle = page.chosen === row.event ? match : band;
  context.globalAlpha = page.chosen === row.event ? 0.35 : 1;
  context.fillRect(0, y - STEP_HEIGHT / 2, size.width, STEP_HEIGHT);
  context.globalAlpha = 1;
}

function drawSequenceHeading(context, page, size) {
  const {palette} = page;
  context.fillStyle = palette.panel;
  context.fillRect(0, 0, size.width, SEQUENCE_HEADING);
  drawLine(context, 0, SEQUENCE_HEADING, size.width, SEQUENCE_HEADING, palette.line);
  context.font = BOLD_FONT;
  page.sequence.columns.columns.forEach((column, index) => {
    drawText(
        context, column.name, columnX(page, size, index), SEQUENCE_HEADING / 2, palette.text, 260,
        'center');
  });
  context.font = FONT;
  drawText(
      context, 'time', TIME_WIDTH - 14, SEQUENCE_HEADING / 2, palette.muted, Infinity, 'right');
  drawText(
      context, 'operation and details', size.width - noteWidth(size) + 8, SEQUENCE_HEADING / 2,
      palette.muted);
}

function drawStep(context, page, size, row, y) {
  if (row.phase)
    drawPhase(context, page, size, row, y);
  else if (row.fold)
    drawFold(context, page, size, row, y);
  else
    drawCall(context, page, size, row, y);
}

function drawPhase(context, page, size, row, y) {
  const {palette} = page;
  const [left, right] = [TIME_WIDTH - 6, size.width - noteWidth(size)];
  context.fillStyle = palette.band;
  context.fillRect(left, y - 10, right - left, 20);
  context.font = BOLD_FONT;
  drawText(
      context, row.phase.toUpperCase(), (left + right) / 2, y, palette.text, Infinity, 'center');
  context.font = FONT;
}

function drawFold(context, page, size, row, y) {
  const {palette} = page;
  const [left, right] = [TIME_WIDTH - 6, size.width - noteWidth(size)];
  const holdsChosen = page.chosen >= row.event && page.chosen <= row.last;
  context.fillStyle = holdsChosen ? palette.match : palette.panel;
  context.globalAlpha = holdsChosen ? 0.35 : 1;
  context.fillRect(left, y - 10, right - left, 20);
  context.globalAlpha = 1;
  drawText(
      context, '⋮  ' + row.fold + '  (click to open)', (left + right) / 2, y, palette.muted,
      right - left - 12, 'center');
}

function drawCall(context, page, size, row, y) {
  const {palette, model} = page;
  const colour = row.bad ? palette.bad : colourOf(page, row.event);
  const pale = page.found !== null && !page.found.has(row.event);
  context.globalAlpha = pale ? 0.25 : 1;
  drawText(
      context, formatTime(realStart(model, row.event), 8), TIME_WIDTH - 14, y, palette.muted,
      Infinity, 'right');
  const from = columnX(page, size, row.from);
  const to = columnX(page, size, row.to);
  if (from === to)
    drawSelf(context, page, row, from, y, colour);
  else
    drawBetween(context, page, row, from, to, y, colour);
  drawText(
      context, row.note, size.width - noteWidth(size) + 8, y, row.bad ? palette.bad : palette.muted,
      noteWidth(size) - 16);
  context.globalAlpha = 1;
}

// What happens at one column: a box on its line.
function drawSelf(context, page, row, x, y, colour) {
  const text = fitText(context, row.text, 240) || row.text.slice(0, 30);
  const width = textWidth(context, text) + 16;
  context.fillStyle = page.palette.page;
  context.fillRect(x - width / 2, y - 9, width, 18);
  context.strokeStyle = colour;
  context.lineWidth = row.bad ? 2 : 1;
  context.strokeRect(x - width / 2 + 0.5, y - 8.5, width - 1, 17);
  drawText(context, text, x, y, row.bad ? colour : page.palette.text, Infinity, 'center');
}

function drawBetween(context, page, row, from, to, y, colour) {
  const way = Math.sign(to - from);
  const dashes = row.dashed ? [5, 3] : [];
  const text = fitText(context, row.text, Math.abs(to - from) - 32);
  const middle = (from + to) / 2;
  const half = way * (textWidth(context, text) / 2 + 5);
  drawLine(context, from, y, middle - half, y, colour, 1.5, dashes);
  drawLine(context, middle + half, y, to - way * 3, y, colour, 1.5, dashes);
  drawArrowHead(context, to, y, way > 0 ? 0 : Math.PI, colour, 9);
  drawText(context, text, middle, y, row.bad ? colour : page.palette.text, Infinity, 'center');
}
