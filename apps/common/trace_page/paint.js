// Colours, taken from the style sheet so that light and dark are in one place, and the few shapes
// that are drawn often.

const FONT = '11px system-ui, "DejaVu Sans", sans-serif';
const BOLD_FONT = '600 12px system-ui, "DejaVu Sans", sans-serif';

function readPalette() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue('--' + name).trim();
  const names =
      ['page', 'panel', 'band', 'text', 'muted', 'line', 'accent', 'match', 'on-colour', 'shade'];
  const palette = Object.fromEntries(names.map((name) => [name, colour(name)]));
  palette.category = CATEGORIES.map((category) => colour(category.name));
  palette.bad = colour('fault');
  palette.hiccup = colour('hiccup');
  return palette;
}

// Makes the canvas as large as its box, in the screen's own pixels, and returns its context in CSS
// pixels.
function fitCanvas(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = width + 'px';
    canvas.style.height = height + 'px';
  }
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.textBaseline = 'middle';
  context.font = FONT;
  return context;
}

const widths = new Map();  // of texts in FONT and BOLD_FONT

function textWidth(context, text) {
  const key = context.font + text;
  let width = widths.get(key);
  if (width === undefined) {
    if (widths.size > 20000) widths.clear();
    width = context.measureText(text).width;
    widths.set(key, width);
  }
  return width;
}

// The text, or its beginning and dots, or nothing: what fits into `room` pixels.
function fitText(context, text, room) {
  if (room < 14) return '';
  const short = text.length > 300 ? text.slice(0, 300) : text;
  const width = textWidth(context, short);
  if (width <= room) return short;
  const letters = Math.floor(short.length * room / width) - 1;
  return letters < 2 ? '' : short.slice(0, letters) + '…';
}

function drawText(context, text, x, y, colour, room = Infinity, align = 'left') {
  const fitting = room === Infinity ? text : fitText(context, text, room);
  if (fitting === '') return;
  context.fillStyle = colour;
  context.textAlign = align;
  context.fillText(fitting, x, y);
}

function drawLine(context, x1, y1, x2, y2, colour, width = 1, dashes = []) {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.setLineDash(dashes);
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
  context.setLineDash([]);
}

// A triangle whose point is at x, y and looks along `angle`.
function drawArrowHead(context, x, y, angle, colour, size = 7) {
  context.fillStyle = colour;
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x - size * Math.cos(angle - 0.4), y - size * Math.sin(angle - 0.4));
  context.lineTo(x - size * Math.cos(angle + 0.4), y - size * Math.sin(angle + 0.4));
  context.fill();
}

// The sign of a fault (a diamond), of a broken rule (a square), of an error (a cross on a disc).
function drawSign(context, kind, x, y, colour, inside) {
  context.fillStyle = colour;
  context.beginPath();
  if (kind === 'fault') {
    context.moveTo(x, y - 7);
    context.lineTo(x + 7, y);
    context.lineTo(x, y + 7);
    context.lineTo(x - 7, y);
  } else if (kind === 'check') {
    context.rect(x - 6, y - 6, 12, 12);
  } else {
    context.arc(x, y, 6, 0, 7);
  }
  context.fill();
  if (kind === 'error') {
    drawLine(context, x - 2.5, y - 2.5, x + 2.5, y + 2.5, inside, 1.5);
    drawLine(context, x - 2.5, y + 2.5, x + 2.5, y - 2.5, inside, 1.5);
  } else {
    drawLine(context, x, y - 3.5, x, y + 1, inside, 1.6);
    drawLine(context, x, y + 2.5, x, y + 4, inside, 1.6);
  }
}

function signOf(model, event) {
  if (model.category[event] === CATEGORY.fault) return 'fault';
  return model.category[event] === CATEGORY.check ? 'check' : 'error';
}
