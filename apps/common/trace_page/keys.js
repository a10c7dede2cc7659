// The keyboard, and the buttons that do the same.

function zoomAtMiddle(page, factor) {
  page.view.zoom(factor, page.view.left + page.view.width / 2);
  page.redraw();
}

function fit(page) {
  page.view.fit();
  page.redraw();
}

// The event `by` places further on the same track.
function stepOnTrack(page, by) {
  if (page.chosen < 0) return;
  const {events} = page.model.tracks[page.model.track[page.chosen]];
  const next = events[events.indexOf(page.chosen) + by];
  if (next !== undefined) page.choose(next);
}

function stepInOperation(page, by) {
  const events = eventsOfChosen(page);
  const next = events[events.indexOf(page.chosen) + by];
  if (next !== undefined) page.choose(next);
}

// The next of `events` after the chosen one, or the one before; around at the ends.
function stepThrough(page, events, by) {
  if (events.length === 0) return;
  const after = events.findIndex((event) => event > page.chosen);
  const at = events.indexOf(page.chosen);
  let next = by > 0 ? after : (at >= 0 ? at : after < 0 ? events.length : after) - 1;
  if (next < 0) next = by > 0 ? 0 : events.length - 1;
  page.choose(events[next]);
}

const KEYS = {
  w: (page) => zoomAtMiddle(page, 1 / 1.6),
  '+': (page) => zoomAtMiddle(page, 1 / 1.6),
  s: (page) => zoomAtMiddle(page, 1.6),
  '-': (page) => zoomAtMiddle(page, 1.6),
  a: (page) => {
    page.view.pan(-page.view.width * 0.2);
    page.redraw();
  },
  d: (page) => {
    page.view.pan(page.view.width * 0.2);
    page.redraw();
  },
  f: fit,
  0: fit,
  Home: fit,
  ArrowLeft: (page) => stepOnTrack(page, -1),
  ArrowRight: (page) => stepOnTrack(page, 1),
  '[': (page) => stepInOperation(page, -1),
  ']': (page) => stepInOperation(page, 1),
  n: (page) => stepThrough(page, page.matches, 1),
  p: (page) => stepThrough(page, page.matches, -1),
  e: (page) => stepThrough(page, page.model.marks, 1),
  E: (page) => stepThrough(page, page.model.marks, -1),
  1: (page) => page.show('timeline'),
  2: (page) => page.show('sequence'),
  t: (page) => page.toggleTheme(),
  '?': (page) => page.choose(-1),
  Escape: (page) => page.choose(-1),
  '/': () => byId('search').focus(),
};

function listenToKeys(page) {
  document.addEventListener('keydown', (event) => {
    const typing = event.target === byId('search');
    if (event.ctrlKey || event.metaKey || event.altKey || (typing && event.key !== 'Escape'))
      return;
    if (event.target.tagName === 'BUTTON' && (event.key === ' ' || event.key === 'Enter')) return;
    if (!Object.hasOwn(KEYS, event.key)) return;
    event.preventDefault();
    if (typing)
      byId('search').blur();
    else
      KEYS[event.key](page);
  });
}

function listenToButtons(page) {
  const on = (id, action) => byId(id).addEventListener('click', action);
  on('zoom-in', () => KEYS.w(page));
  on('zoom-out', () => KEYS.s(page));
  on('fit', () => fit(page));
  on('next', () => KEYS.n(page));
  on('previous', () => KEYS.p(page));
  on('theme', () => page.toggleTheme());
  on('help', () => page.choose(-1));
  on('show-timeline', () => page.show('timeline'));
  on('show-sequence', () => page.show('sequence'));
  const box = byId('search');
  let waiting = 0;
  box.addEventListener('input', () => {  // not at every letter: a search looks at everything
    clearTimeout(waiting);
    waiting = setTimeout(() => page.search(box.value), 120);
  });
  box.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter') return;
    clearTimeout(waiting);
    page.search(box.value);
    stepThrough(page, page.matches, event.shiftKey ? -1 : 1);
  });
}
