// The sequence diagram: lifelines from top to bottom, arrows between them, the time at the left and
// notes at the right.

const STEP_HEIGHT = 24;
const SEQUENCE_HEADING = 34;
const TIME_WIDTH = 96;
const NOTE_WIDTH = 280;

function columnX(page, size, column) {
  const count = page.sequence.columns.columns.length;
  const room = Math.max(200, size.width - TIME_WIDTH - NOTE_WIDTH);
  return TIME_WIDTH + room * (column + 0.5) / count;
}

function sequenceHeight(page) {
  return SEQUENCE_HEADING + page.sequence.rows.length * STEP_HEIGHT + 30;
}

function drawSequence(context, page, size) {
  const {palette, sequence, scroll} = page;
  sequence.columns.columns.forEach((column, index) => {
    const x = columnX(page, size, index);
    drawLine(
        context, x, SEQUENCE_HEADING, x, size.height, palette.muted, 1.5,
        column.pid === null ? [6, 5] : []);
  });
  const first = Math.max(0, Math.floor(scroll / STEP_HEIGHT) - 1);
  const last = Math.min(sequence.rows.length, first + Math.ceil(size.height / STEP_HEIGHT) + 2);
  const chosen = new Set(eventsOfChosen(page));
  const timeAt = (index) =>
      index < sequence.rows.length ? page.model.start[sequence.rows[index].event] : page.model.span;
  sequence.seen = [timeAt(first), timeAt(last)];
  for (let i = first; i < last; ++i) {
    const y = SEQUENCE_HEADING + i * STEP_HEIGHT + STEP_HEIGHT / 2 - scroll + 8;
    drawStep(context, page, size, sequence.rows[i], y, chosen);
  }
  drawSequenceHeading(context, page, size);
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
      context, 'operation and details', size.width - NOTE_WIDTH + 8, SEQUENCE_HEADING / 2,
      palette.muted);
}

function drawStep(context, page, size, row, y, chosen) {
  if (row.phase)
    drawPhase(context, page, size, row, y);
  else if (row.fold)
    drawFold(context, page, size, row, y);
  else
    drawCall(context, page, size, row, y, chosen);
}

function drawPhase(context, page, size, row, y) {
  const {palette} = page;
  const [left, right] = [TIME_WIDTH - 6, size.width - NOTE_WIDTH];
  context.fillStyle = palette.band;
  context.fillRect(left, y - 10, right - left, 20);
  context.font = BOLD_FONT;
  drawText(
      context, row.phase.toUpperCase(), (left + right) / 2, y, palette.text, Infinity, 'center');
  context.font = FONT;
}

function drawFold(context, page, size, row, y) {
  const {palette} = page;
  const [left, right] = [TIME_WIDTH - 6, size.width - NOTE_WIDTH];
  const holdsChosen = page.chosen >= row.event && page.chosen <= row.last;
  context.fillStyle = holdsChosen ? palette.match : palette.panel;
  context.globalAlpha = holdsChosen ? 0.35 : 1;
  context.fillRect(left, y - 10, right - left, 20);
  context.globalAlpha = 1;
  drawText(
      context, '⋮  ' + row.fold + '  (click to open)', (left + right) / 2, y, palette.muted,
      right - left - 12, 'center');
}

function drawCall(context, page, size, row, y, chosen) {
  const {palette, model} = page;
  const colour = row.bad ? palette.bad : colourOf(page, row.event);
  const pale = page.found !== null && !page.found.has(row.event);
  if (chosen.has(row.event) || page.hovered === row.event) {
    context.fillStyle = page.chosen === row.event ? palette.match : palette.band;
    context.globalAlpha = page.chosen === row.event ? 0.35 : 1;
    context.fillRect(0, y - STEP_HEIGHT / 2, size.width, STEP_HEIGHT);
  }
  context.globalAlpha = pale ? 0.25 : 1;
  drawText(
      context, formatTime(realStart(model, row.event), 5), TIME_WIDTH - 14, y, palette.muted,
      Infinity, 'right');
  const from = columnX(page, size, row.from);
  const to = columnX(page, size, row.to);
  if (from === to)
    drawSelf(context, page, row, from, y, colour);
  else
    drawBetween(context, page, row, from, to, y, colour);
  drawText(
      context, row.note, size.width - NOTE_WIDTH + 8, y, row.bad ? palette.bad : palette.muted,
      NOTE_WIDTH - 16);
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
  drawLine(context, from, y, to - way * 3, y, colour, 1.5, row.dashed ? [5, 3] : []);
  drawArrowHead(context, to, y, way > 0 ? 0 : Math.PI, colour, 9);
  const text = fitText(context, row.text, Math.abs(to - from) - 50);
  const middle = (from + to) / 2;
  const width = textWidth(context, text) + 10;
  context.fillStyle = page.palette.page;
  context.fillRect(middle - width / 2, y - 8, width, 16);
  drawText(context, text, middle, y, row.bad ? colour : page.palette.text, Infinity, 'center');
}
