// A trace as the page uses it: events in columns, in the order of their starts, so that an event's
// number also is its place in time. The format is that of docs/trace-format.md; what is not
// understood is counted and left out, for a trace may come from anywhere.

class TraceError extends Error {}

function parseTrace(text) {
  let trace;
  try {
    trace = JSON.parse(text);
  } catch (error) {
    throw new TraceError('The trace is not JSON: ' + error.message);
  }
  if (Array.isArray(trace)) trace = {traceEvents: trace};  // Chrome's other form
  if (trace === null || typeof trace !== 'object' || !Array.isArray(trace.traceEvents)) {
    throw new TraceError('The trace has no list traceEvents');
  }
  return trace;
}

// The events by what they are for: names of tracks, slices, steps of flows.
function sortOut(events) {
  const kinds = {names: [], slices: [], marks: [], flows: [], ignored: 0};
  const lists = {
    M: kinds.names,
    X: kinds.slices,
    i: kinds.marks,
    I: kinds.marks,
    s: kinds.flows,
    t: kinds.flows,
    f: kinds.flows
  };
  for (const event of events) {
    const known = event && typeof event.ph === 'string' && Object.hasOwn(lists, event.ph);
    const list = known ? lists[event.ph] : null;
    if (!list || (event.ph !== 'M' && !Number.isFinite(event.ts))) {
      kinds.ignored += 1;
      continue;
    }
    makePlain(event);
    list.push(event);
  }
  addLonelyMarks(kinds);
  return kinds;
}

// A mark that has no slice of its own becomes one, so that it can be selected like any event.
function addLonelyMarks(kinds) {
  if (kinds.marks.length === 0) return;
  const key = (event) => `${event.pid} ${event.cat} ${event.name} ${event.ts}`;
  const drawn = new Set(
      kinds.slices.filter((event) => event.cat === 'fault' || event.cat === 'check').map(key));
  for (const mark of kinds.marks) {
    if (!drawn.has(key(mark))) kinds.slices.push(mark);
  }
}

class Tracks {
  constructor() {
    this.nodes = new Map();  // by pid
    this.list = [];
    this.byKey = new Map();
  }

  node(pid) {
    if (!this.nodes.has(pid)) {
      const number = Number.isInteger(pid) ? pid - 1 : pid;
      this.nodes.set(
          pid, {pid, number, name: `node ${number}`, sort: number, tracks: [], regions: []});
    }
    return this.nodes.get(pid);
  }

  track(pid, tid) {
    const key = pid + ':' + tid;
    let track = this.byKey.get(key);
    if (track === undefined) {
      const node = this.node(pid);
      track = {
        index: this.list.length,
        node,
        tid,
        name: `track ${tid}`,
        sort: Number(tid) || 0,
        events: []
      };
      this.list.push(track);
      node.tracks.push(track);
      this.byKey.set(key, track);
    }
    return track;
  }

  read(name) {
    const args = name.args;
    if (name.name === 'process_name') this.node(name.pid).name = String(args.name);
    if (name.name === 'process_sort_index') this.node(name.pid).sort = Number(args.sort_index) || 0;
    if (name.name === 'thread_name') this.track(name.pid, name.tid).name = String(args.name);
    if (name.name === 'thread_sort_index')
      this.track(name.pid, name.tid).sort = Number(args.sort_index) || 0;
  }

  sorted() {
    const nodes = [...this.nodes.values()].sort((a, b) => a.sort - b.sort);
    for (const node of nodes) node.tracks.sort((a, b) => a.sort - b.sort);
    return nodes;
  }
}

const MOST_LANES = 6;

// Slices of a track that overlap are drawn in lanes below each other. Traces of Drydock need one;
// others may not.
function assignLanes(track, model) {
  const ends = [];
  const lanes = [];
  for (const event of track.events) {
    const start = model.start[event];
    let lane = ends.findIndex((end) => end <= start);
    if (lane < 0) lane = Math.min(ends.length, MOST_LANES - 1);
    ends[lane] = Math.max(model.end[event], start + 1);
    model.lane[event] = lane;
    (lanes[lane] = lanes[lane] || []).push(event);
  }
  track.lanes = lanes.map((list) => ({events: Uint32Array.from(list)}));
  for (const lane of track.lanes) lane.latest = latestEnds(lane.events, model.end);
}

function fillColumns(slices, tracks) {
  const count = slices.length;
  const model = {
    count,
    raw: slices,
    start: new Float64Array(count),
    end: new Float64Array(count),
    track: new Int32Array(count),
    lane: new Uint8Array(count),
    category: new Uint8Array(count),
    trouble: new Map(),
    hiccups: new Map(),
  };
  const first = count > 0 ? slices[0].ts : 0;
  for (let i = 0; i < count; ++i) {
    const event = slices[i];
    model.start[i] = Math.round((event.ts - first) * 1000);
    model.end[i] = model.start[i] +
        (event.dur > 0 && Number.isFinite(event.dur) ? Math.round(event.dur * 1000) : 0);
    const track = tracks.track(event.pid, event.tid);
    track.events.push(i);
    model.track[i] = track.index;
    model.category[i] = categoryOf(event);
    const trouble = troubleOf(event);
    if (trouble) model.trouble.set(i, trouble);
    const hiccup = hiccupOf(event);
    if (hiccup) model.hiccups.set(i, hiccup);
  }
  model.first = first * 1000;
  return model;
}

// The text of a trace -> everything that the page draws. Throws TraceError.
function readModel(text) {
  const trace = parseTrace(text);
  const kinds = sortOut(trace.traceEvents);
  kinds.slices.sort((a, b) => a.ts - b.ts);
  const tracks = new Tracks();
  for (const name of kinds.names) tracks.read(name);
  const model = fillColumns(kinds.slices, tracks);
  model.info = plainMembers(trace.otherData);
  model.ignored = kinds.ignored;
  model.nodes = tracks.sorted();
  model.tracks = tracks.list;
  for (const track of model.tracks) assignLanes(track, model);
  model.span = Math.max(1, model.end.reduce((latest, end) => Math.max(latest, end), 0));
  readOperations(model, kinds.flows, tracks);
  readRegions(model);
  model.marks = marksOf(model);
  return model;
}

// What is marked over everything: faults, broken rules, errors.
function marksOf(model) {
  const marks = [];
  for (let i = 0; i < model.count; ++i) {
    const category = model.category[i];
    if (category === CATEGORY.fault || category === CATEGORY.check || model.trouble.has(i))
      marks.push(i);
  }
  return marks;
}
