// Repetition, said once: a list in which a pattern of up to eight items comes again and again is
// shown as the pattern's first and last time, and between them how often it came.

const LONGEST_PATTERN = 8;
const FEWEST_TIMES = 4;
const FEWEST_HIDDEN = 4;  // fewer are not worth a row that says so

// How many times the `period` items at `at` follow each other.
function timesRepeated(keys, at, period) {
  let end = at + period;
  while (end < keys.length && keys[end] === keys[end - period]) ++end;
  return Math.floor((end - at) / period);
}

// The pattern at `at` that covers the most, or null.
function patternAt(keys, at) {
  let best = null;
  for (let period = 1; period <= LONGEST_PATTERN; ++period) {
    const times = timesRepeated(keys, at, period);
    if (times >= FEWEST_TIMES && period * (times - 2) >= FEWEST_HIDDEN &&
        (best === null || times * period > best.times * best.period * 1.2)) {
      best = {period, times};
    }
  }
  return best;
}

// Pieces of the list in order: {at, count} as they are, {at, count, period, times} to fold.
function foldRepeats(keys) {
  const pieces = [];
  for (let at = 0; at < keys.length;) {
    const pattern = patternAt(keys, at);
    if (pattern === null) {
      pieces.push({at, count: 1});
      at += 1;
      continue;
    }
    const {period, times} = pattern;
    pieces.push({at, count: period});
    pieces.push({at: at + period, count: period * (times - 2), period, times: times - 2});
    pieces.push({at: at + period * (times - 1), count: period});
    at += period * times;
  }
  return pieces;
}
