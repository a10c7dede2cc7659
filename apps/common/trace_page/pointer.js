// The mouse on the picture: what is under it, choosing, moving and zooming.

const CLICK_SLACK = 4;  // pixels that a click may move

// The event at a point of the plot, or -1; and the row.
function whatIsAt(page, x, y) {
  if (page.mode === 'sequence') return {event: -1, step: stepAt(page, y)};
  const row = y < RULER_HEIGHT ? undefined : rowAt(page.layout, y - RULER_HEIGHT + page.scroll);
  if (row === undefined || x < NAME_WIDTH) return {event: -1, row};
  const inside = y - RULER_HEIGHT + page.scroll;
  if (row.type === 'region') return {event: placementAt(page, row, x, inside), row};
  if (row.type !== 'track') return {event: -1, row};
  const lane = row.track.lanes[Math.floor((inside - row.y - 2) / LANE_HEIGHT)];
  return {event: lane ? eventAt(page.model, lane, page.view, x, 4) : -1, row};
}

function stepAt(page, y) {
  if (y < SEQUENCE_HEADING) return undefined;
  return page.sequence.rows[Math.floor((y - SEQUENCE_HEADING - 8 + page.scroll) / STEP_HEIGHT)];
}

function place(event, canvas) {
  const box = canvas.getBoundingClientRect();
  return {x: event.clientX - box.left, y: event.clientY - box.top};
}

function click(page, at) {
  const {event, row, step} = whatIsAt(page, at.x, at.y);
  if (step !== undefined) {
    if (step.fold)
      page.openFold(step.event);
    else
      page.choose(step.event);
  } else if (event >= 0) {
    page.choose(event, {stay: true});
  } else if (row !== undefined && at.x < NAME_WIDTH && row.type === 'node') {
    page.toggleNode(row.node.pid);
  } else if (row !== undefined && at.x < NAME_WIDTH && row.type === 'region') {
    page.toggleRegion(row.region);
  } else if (at.x >= NAME_WIDTH) {
    page.choose(-1);
  }
}

function hover(page, at, clientX, clientY) {
  const {event, step} = whatIsAt(page, at.x, at.y);
  const now = step !== undefined && !step.phase && !step.fold ? step.event : event;
  const tooltip = byId('tooltip');
  tooltip.hidden = now < 0 || step !== undefined;
  if (!tooltip.hidden) {
    tooltip.textContent = tooltipText(page, now);
    tooltip.style.left = Math.min(clientX + 14, window.innerWidth - 300) + 'px';
    tooltip.style.top = Math.min(clientY + 16, window.innerHeight - 90) + 'px';
  }
  const inside = page.mode === 'timeline' && at.x >= NAME_WIDTH;
  byId('cursor').textContent = inside ? `mouse at ${formatTime(page.view.ns(at.x), 6)}` : '';
  if (now !== page.hovered) {
    page.hovered = now;
    page.redraw();
  }
}

// Dragging moves the picture; from the ruler, or with Shift, it draws out a range to zoom into.
class Drag {
  constructor(page, at, shift) {
    this.page = page;
    this.start = at;
    this.last = at;
    this.moved = false;
    this.range = page.mode === 'timeline' && at.x >= NAME_WIDTH && (shift || at.y < RULER_HEIGHT);
  }

  move(at) {
    const {page} = this;
    this.moved = this.moved || Math.hypot(at.x - this.start.x, at.y - this.start.y) > CLICK_SLACK;
    if (!this.moved) return;
    if (this.range) {
      page.dragged = [Math.min(this.start.x, at.x), Math.max(this.start.x, at.x)];
    } else {
      if (page.mode === 'timeline' && this.start.x >= NAME_WIDTH) page.view.pan(this.last.x - at.x);
      byId('scroller').scrollTop += this.last.y - at.y;
    }
    this.last = at;
    page.redraw();
  }

  end(at) {
    const {page} = this;
    if (!this.moved) {
      click(page, at);
    } else if (this.range) {
      const [from, to] = page.dragged;
      page.view.show(page.view.ns(from), page.view.ns(to));
    }
    page.dragged = null;
    page.redraw();
  }
}

function listenToPointer(page) {
  const canvas = byId('plot');
  let drag = null;
  canvas.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    drag = new Drag(page, place(event, canvas), event.shiftKey);
  });
  canvas.addEventListener('pointermove', (event) => {
    const at = place(event, canvas);
    if (drag)
      drag.move(at);
    else
      hover(page, at, event.clientX, event.clientY);
  });
  canvas.addEventListener('pointerup', (event) => {
    if (drag) drag.end(place(event, canvas));
    drag = null;
  });
  canvas.addEventListener('pointerleave', () => {
    byId('tooltip').hidden = true;
  });
  canvas.addEventListener('dblclick', (event) => {
    const {event: found} = whatIsAt(page, ...Object.values(place(event, canvas)));
    if (found >= 0) page.zoomTo(found);
  });
  canvas.addEventListener(
      'wheel', (event) => wheel(page, event, place(event, canvas)), {passive: false});
}

// Over the names, and in the sequence diagram, the wheel scrolls; in the picture it zooms, and
// sideways it moves.
function wheel(page, event, at) {
  if (page.mode === 'sequence' || at.x < NAME_WIDTH) return;
  event.preventDefault();
  const scale = event.deltaMode === 1 ? 30 : event.deltaMode === 2 ? 400 : 1;
  const sideways = event.shiftKey ? event.deltaX + event.deltaY : event.deltaX;
  if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
    page.view.pan(sideways * scale);
  else
    page.view.zoom(Math.exp(event.deltaY * scale * 0.0015), at.x);
  page.redraw();
}

function listenToOverview(page) {
  const canvas = byId('overview');
  const go = (event) => {
    const axis = overviewAxis(page);
    const middle = axis.ns(place(event, canvas).x);
    if (page.mode === 'sequence') {
      page.scrollTo(firstAtLeast(page.model.start, middle));
      return;
    }
    page.view.show(middle - page.view.span / 2, middle + page.view.span / 2);
    page.redraw();
  };
  canvas.addEventListener('pointerdown', (event) => {
    canvas.setPointerCapture(event.pointerId);
    go(event);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (event.buttons & 1) go(event);
  });
}
