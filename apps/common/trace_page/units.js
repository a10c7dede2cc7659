// Numbers as a person reads them. A time is a number of nanoseconds everywhere on this page.

const TIME_UNITS = [['s', 1e9], ['ms', 1e6], ['µs', 1e3], ['ns', 1]];
const BYTE_UNITS = [['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10], ['B', 1]];

// The unit in which `size` is at least one; the smallest otherwise.
function unitFor(size, units) {
  return units.find(([, worth]) => Math.abs(size) >= worth) || units[units.length - 1];
}

// At most `digits` significant digits, and no zeros at the end that say nothing.
function shortNumber(value, digits) {
  if (Math.abs(value) >= 10 ** digits) return String(Math.round(value));
  return String(Number(value.toPrecision(digits)));
}

function formatTime(ns, digits = 4) {
  const [unit, worth] = unitFor(ns, TIME_UNITS);
  return shortNumber(ns / worth, digits) + ' ' + unit;
}

function formatBytes(bytes) {
  const [unit, worth] = unitFor(bytes, BYTE_UNITS);
  return shortNumber(bytes / worth, 4) + ' ' + unit;
}

function formatCount(count) {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',');
}

function plural(count, one, many = one + 's') {
  return formatCount(count) + ' ' + (count === 1 ? one : many);
}

// The next of 1, 2, 5, 10, 20, 50 ... that is not below `rough`.
function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 5, 10].find((each) => each * power >= rough * (1 - 1e-9));
  return Math.max(1, factor * power);
}

// Where an axis from `start` on has its marks, at most about `most` of them.
function ticks(start, span, most) {
  const step = niceStep(span / most);
  const at = [];
  const first = Math.ceil(start / step - 1e-9);
  for (let n = 0; n <= 2 * most && (first + n) * step <= start + span; ++n)
    at.push((first + n) * step);
  return {step, at};
}

// All marks of an axis have the unit of the largest, and as many decimals as tell them apart.
function formatTick(ns, step, largest) {
  const [unit, worth] = unitFor(largest, TIME_UNITS);
  const decimals = Math.max(0, Math.ceil(-Math.log10(step / worth) - 1e-9));
  return (ns / worth).toFixed(Math.min(decimals, 9)) + ' ' + unit;
}
