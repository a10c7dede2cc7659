// The page: its state, and what changes it. Everything else draws this state or calls these
// methods.

class Page {
  constructor(model) {
    this.model = model;
    this.simulated = isSimulated(model.info);
    this.view = new View(model.span);
    this.mode = 'timeline';
    this.chosen = -1;  // an event, or -1
    this.hovered = -1;
    this.hidden = new Set();  // categories
    this.matches = [];        // of the search, in time
    this.found = null;        // the same as a set; null: nothing is searched
    this.finder = new Search(model);
    this.closed = new Set();  // pids
    this.tall = new Set();    // regions
    this.scroll = 0;
    this.scrolls = {timeline: 0, sequence: 0};
    this.dragged = null;  // [x, x] of a range that is being drawn out
    this.histogram = null;
    this.sequence = null;  // made when it is first asked for
    this.unfolded = new Set();
    this.waiting = false;
    this.choose = this.choose.bind(this);
    const [from, to] = busyRange(model);
    const room = (to - from) * 0.02;
    if (to - from < model.span) this.view.show(from - room, to + room);
    this.layOut();
  }

  layOut() {
    this.layout = layoutRows(this.model, this.closed, this.tall);
  }

  setTheme(dark) {
    document.documentElement.classList.toggle('dark', dark);
    this.palette = readPalette();
  }

  toggleTheme() {
    this.setTheme(!document.documentElement.classList.contains('dark'));
    this.redraw();
  }

  // Draws before the next frame, once, however often this is called.
  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw() {
    const scroller = byId('scroller');
    const size = {width: scroller.clientWidth, height: scroller.clientHeight};
    const whole =
        this.mode === 'timeline' ? this.layout.height + RULER_HEIGHT : sequenceHeight(this);
    byId('height').style.height = Math.max(0, whole - size.height) + 'px';
    this.scroll = scroller.scrollTop;
    const context = fitCanvas(byId('plot'), size.width, size.height);
    if (this.mode === 'timeline')
      drawTimeline(context, this, size);
    else
      drawSequence(context, this, size);
    if (this.dragged) this.drawDragged(context, size);
    const strip = byId('overview');
    drawOverview(
        fitCanvas(strip, strip.parentElement.clientWidth, 44), this,
        {width: strip.parentElement.clientWidth, height: 44});
    this.showHint();
  }

  drawDragged(context, size) {
    const [from, to] = this.dragged;
    context.globalAlpha = 0.25;
    context.fillStyle = this.palette.accent;
    context.fillRect(from, 0, to - from, size.height);
    context.globalAlpha = 1;
    drawText(
        context, formatTime((to - from) * this.view.span / this.view.width), to + 6,
        RULER_HEIGHT + 14, this.palette.text);
  }

  showHint() {
    const parts = [];
    if (this.mode === 'timeline') {
      parts.push(`on the screen: ${formatTime(this.view.span, 3)}`);
      if (this.view.span < this.model.span) parts.push('F shows all of it');
      if (this.arrowsLeftOut) parts.push('zoom in for the arrows of all operations');
    }
    byId('hint').textContent = parts.join(' · ');
  }

  // Chooses an event, or none (-1), and brings it onto the screen.
  choose(event, {stay = false} = {}) {
    this.chosen = event;
    if (event >= 0 && !stay) this.reveal(event);
    showDetails(this);
    this.showMatches();
    this.redraw();
  }

  reveal(event) {
    this.view.reveal(this.model.start[event], this.model.end[event]);
    const scroller = byId('scroller');
    let [top, heading] = [eventTop(this.model, this.layout, event), RULER_HEIGHT];
    if (this.mode === 'sequence') {
      top = rowOfEvent(this.sequence.rows, event) * STEP_HEIGHT;
      heading = SEQUENCE_HEADING;
    }
    const room = scroller.clientHeight - heading - 40;
    if (top === undefined || (top >= scroller.scrollTop && top <= scroller.scrollTop + room))
      return;
    byId('height').style.height =
        Math.max(0, top + 2 * room) + 'px';  // so that it can scroll this far; draw() corrects it
    scroller.scrollTop = Math.max(0, top - room / 2);
  }

  // In the sequence diagram: the event's row is the first one.
  scrollTo(event) {
    byId('scroller').scrollTop = rowOfEvent(this.sequence.rows, event) * STEP_HEIGHT;
  }

  zoomTo(event) {
    const operation = this.model.operation[event];
    const events = operation < 0 ? [event] : this.model.operations[operation].events;
    const end = events.reduce((latest, each) => Math.max(latest, this.model.end[each]), 0);
    const start = this.model.start[events[0]];
    const room = Math.max(10, (end - start) * 0.15);
    this.view.show(start - room, end + room);
    this.redraw();
  }

  search(text) {
    this.matches = this.finder.matches(text);
    this.found = text.trim() === '' ? null : new Set(this.matches);
    this.showMatches();
    this.redraw();
  }

  showMatches() {
    const at = this.matches.indexOf(this.chosen);
    const count = plural(this.matches.length, 'match', 'matches');
    byId('matches').textContent = this.found === null ? '' :
        at < 0                                        ? count :
                                                        `${formatCount(at + 1)} of ${count}`;
  }

  toggleNode(pid) {
    if (!this.closed.delete(pid)) this.closed.add(pid);
    this.layOut();
    this.redraw();
  }

  toggleRegion(region) {
    if (!this.tall.delete(region)) this.tall.add(region);
    this.layOut();
    this.redraw();
  }

  openFold(event) {
    this.unfolded.add(event);
    this.sequence.rows = sequenceRows(this.model, this.sequence.columns, this.unfolded);
    this.redraw();
  }

  show(mode) {
    if (mode === 'sequence' && this.sequence === null) {
      const columns = sequenceColumns(this.model);
      this.sequence = {
        columns,
        rows: sequenceRows(this.model, columns, this.unfolded),
        seen: [0, 0]
      };
    }
    const scroller = byId('scroller');
    this.scrolls[this.mode] = scroller.scrollTop;
    this.mode = mode;
    for (const each of ['timeline', 'sequence'])
      byId('show-' + each).setAttribute('aria-selected', String(each === mode));
    this.hovered = -1;
    if (this.chosen < 0) showDetails(this);
    this.draw();
    scroller.scrollTop = this.scrolls[mode];
    if (this.chosen >= 0) this.reveal(this.chosen);
    this.redraw();
  }
}

function listen(page) {
  listenToPointer(page);
  listenToOverview(page);
  listenToKeys(page);
  listenToButtons(page);
  byId('scroller').addEventListener('scroll', () => page.redraw());
  window.addEventListener('resize', () => page.redraw());
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', (event) => {
    page.setTheme(event.matches);
    page.redraw();
  });
}

// "#view=sequence&theme=dark&search=lost&event=12&from=0&to=5000" (ns): what a link to the page may
// ask for.
function applyAddress(page) {
  const wish = new URLSearchParams(location.hash.slice(1));
  if (wish.has('theme')) page.setTheme(wish.get('theme') === 'dark');
  if (wish.has('search')) {
    byId('search').value = wish.get('search');
    page.search(wish.get('search'));
  }
  if (wish.has('from')) page.view.show(Number(wish.get('from')) || 0, Number(wish.get('to')) || 0);
  const event = Number.parseInt(wish.get('event'), 10);
  if (event >= 0 && event < page.model.count) page.choose(event);
  if (wish.get('view') === 'sequence') page.show('sequence');
}

// Says on the root element how long it took, for tests: data-events, data-drawn (ms since the page
// was asked for). To read a pixel is to wait until everything is painted.
function tellWhenDrawn(page) {
  byId('plot').getContext('2d').getImageData(0, 0, 1, 1);
  const root = document.documentElement.dataset;
  root.events = page.model.count;
  root.resources = performance.getEntriesByType('resource').length;
  root.drawn = Math.round(performance.now());
}

function start() {
  const source = byId('trace');
  let model;
  try {
    model = readModel(source.textContent);
  } catch (error) {
    if (!(error instanceof TraceError)) throw error;
    byId('title').textContent = error.message;
    return;
  }
  source.remove();  // as large as everything else together
  const page = new Page(model);
  page.setTheme(window.matchMedia('(prefers-color-scheme: dark)').matches);
  showHeading(page);
  showLegend(page);
  showDetails(page);
  page.show('timeline');
  applyAddress(page);
  listen(page);
  page.draw();
  tellWhenDrawn(page);
}
