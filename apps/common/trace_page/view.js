// Which part of time is on the screen, and how a person moves it. Times are nanoseconds from the
// trace's first event.

const SHORTEST_VIEW = 20;  // ns

// Where nearly all events are, if that is a small part of the trace: a program that waits for ten
// seconds at its end would leave a picture of nothing. Otherwise the whole trace.
function busyRange(model) {
  if (model.count === 0) return [0, model.span];
  const at = (part) => model.start[Math.floor((model.count - 1) * part)];
  const [first, last] = [at(0.02), at(0.98)];
  const from = first < last - first ? 0 : first;
  return last - from < model.span * 0.15 ? [from, Math.max(last, from + 1)] : [0, model.span];
}

class View {
  constructor(total) {
    this.total = total;
    this.left = 0;   // pixels before the time axis begins: names of tracks
    this.width = 1;  // pixels of the time axis
    this.fit();
  }

  fit() {
    const margin = this.total * 0.02;
    this.show(-margin, this.total + margin);
  }

  show(from, to) {
    const most = this.total * 1.2 + SHORTEST_VIEW;
    this.span = Math.min(most, Math.max(SHORTEST_VIEW, to - from));
    const middle =
        Math.min(this.total, Math.max(0, (from + to) / 2));  // half of the view shows something
    this.from = middle - this.span / 2;
  }

  get to() {
    return this.from + this.span;
  }

  x(ns) {
    return this.left + (ns - this.from) * this.width / this.span;
  }

  ns(x) {
    return this.from + (x - this.left) * this.span / this.width;
  }

  // What is at x stays there.
  zoom(factor, x) {
    const at = this.ns(x);
    const span =
        Math.min(this.total * 1.2 + SHORTEST_VIEW, Math.max(SHORTEST_VIEW, this.span * factor));
    const from = at - (at - this.from) * span / this.span;
    this.show(from, from + span);
  }

  pan(pixels) {
    const by = pixels * this.span / this.width;
    this.show(this.from + by, this.to + by);
  }

  // Moves as little as needed to have this range on the screen, with some room.
  reveal(start, end) {
    const room = this.span * 0.1;
    if (end - start > this.span - 2 * room)
      this.show(start - (end - start) * 0.2, end + (end - start) * 0.2);
    else if (start < this.from + room)
      this.show(start - room, start - room + this.span);
    else if (end > this.to - room)
      this.show(end + room - this.span, end + room);
  }
}
