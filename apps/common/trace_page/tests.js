// Tests of what the page computes: they run in a page of their own, in the browser that a test
// starts (page_test.sh), which reads the last line: "N passed, M failed".

const report = [];

function check(what, condition) {
  report.push({what, good: Boolean(condition)});
}

function same(what, actual, expected) {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
  check(a === b ? what : `${what}: ${a} is not ${b}`, a === b);
}

function throws(what, action, words) {
  let message = 'nothing was thrown';
  try {
    action();
  } catch (error) {
    message = error instanceof TraceError ? error.message : 'another error: ' + error;
  }
  check(message.includes(words) ? what : `${what}: ${message}`, message.includes(words));
}

// ---- a trace of two machines, by hand ----

function slice(cat, name, pid, tid, ts, dur, args) {
  return {ph: 'X', cat, name, pid, tid, ts, dur, args};
}

const TRACKS = [
  {ph: 'M', name: 'process_name', pid: 1, args: {name: 'node 0: server'}},
  {ph: 'M', name: 'process_name', pid: 2, args: {name: 'node 1: client'}},
  {ph: 'M', name: 'thread_name', pid: 1, tid: 9, args: {name: 'send queue'}},
  {ph: 'M', name: 'thread_sort_index', pid: 1, tid: 9, args: {sort_index: 1}},
  {ph: 'M', name: 'thread_name', pid: 1, tid: 2, args: {name: 'wire'}},
  {ph: 'M', name: 'thread_sort_index', pid: 1, tid: 2, args: {sort_index: 2}},
];

// A write whose first packet is lost.
function smallTrace() {
  return {
    otherData: {program: 'small', clock: 'virtual'},
    traceEvents: [
      ...TRACKS,
      slice(
          'object', 'open region', 2, 1, 10, 0.1,
          {event: 'open', object: 'region', id: 5, length: 8192, name: 'buffer'}),
      slice(
          'post', 'write 4096 B', 1, 9, 11, 0.1,
          {op: 3, kind: 'write', bytes: 4096, imm: 7, result: 'accepted'}),
      slice(
          'packet', 'packet 0', 1, 2, 11.2, 0.1,
          {op: 3, node_from: 0, node_to: 1, packet: 0, fate: 'lost'}),
      slice(
          'packet', 'packet 0', 1, 2, 15, 0.1,
          {op: 3, node_from: 0, node_to: 1, packet: 0, fate: 'retransmitted'}),
      slice(
          'place', 'place', 2, 3, 16, 0.05,
          {op: 3, op_node: 0, region: 5, offset: 4096, bytes: 4096}),
      slice(
          'completion', 'write ok', 1, 4, 17, 0.05, {op: 3, queue: 1, kind: 'write', status: 'ok'}),
      slice('poll', 'poll', 1, 4, 17.5, 0.05, {queue: 1, count: 2, ops: [3, 0]}),
      slice('resume', 'resume', 1, 5, 18, 0.05, {}),
      {ph: 'f', cat: 'flow', bp: 'e', name: 'operation', id: '0.3', ts: 18, pid: 1, tid: 5}, {
        ph: 'i',
        s: 'p',
        cat: 'fault',
        name: 'lose',
        ts: 11.2,
        pid: 1,
        tid: 6,
        args: {what: 'packet lost'}
      }
    ],
  };
}

function modelOf(trace) {
  return readModel(JSON.stringify(trace));
}

function names(model, events) {
  return Array.from(events, (event) => model.raw[event].cat);
}

// ---- units ----

function testUnits() {
  same(
      'times have units', [0, 12, 1500, 2.5e6, 3e9].map((ns) => formatTime(ns)),
      ['0 ns', '12 ns', '1.5 µs', '2.5 ms', '3 s']);
  same(
      'bytes have units', [0, 64, 4096, 1572864].map(formatBytes),
      ['0 B', '64 B', '4 KiB', '1.5 MiB']);
  same(
      'large numbers have commas', [999, 1000, 1234567].map(formatCount),
      ['999', '1,000', '1,234,567']);
  same('steps are round', [0.3, 1, 1.1, 3, 7, 120].map(niceStep), [1, 1, 2, 5, 10, 200]);
  same('ticks lie in the range', ticks(95, 210, 5).at, [100, 150, 200, 250, 300]);
  same(
      'ticks share their decimals', [1000, 1500].map((ns) => formatTick(ns, 500, 1500)),
      ['1.0 µs', '1.5 µs']);
  check('a range beyond all numbers ends', ticks(1e300, 20, 10).at.length < 50);
}

function testSearches() {
  const values = Float64Array.from([5, 1, 3, 9]);
  same(
      'first place that is not below',
      [0, 1, 4, 10].map((limit) => lowerBound([1, 2, 0, 3], values, limit)), [0, 0, 2, 4]);
  same(
      'latest end so far', [...latestEnds([0, 1, 2, 3], Float64Array.from([7, 2, 8, 3]))],
      [7, 7, 8, 8]);
}

// ---- reading ----

function testReading() {
  const model = modelOf(smallTrace());
  same(
      'events are in the order of time', names(model, [...Array(model.count).keys()]),
      ['object', 'post', 'packet', 'fault', 'packet', 'place', 'completion', 'poll', 'resume']);
  same('times are nanoseconds from the first', [model.start[1], model.end[1]], [1000, 1100]);
  same(
      'tracks are sorted', model.nodes[0].tracks.slice(0, 2).map((track) => track.name),
      ['send queue', 'wire']);
  same('what went wrong is marked', names(model, model.marks), ['fault']);
  same('so is what did not go smoothly', [...model.hiccups.values()], ['lost', 'retransmitted']);
  check('nothing is left out', model.ignored === 0);
  check(
      'virtual time is simulated',
      isSimulated(model.info) && !isSimulated({clock: 'steady', backend: 'tcp'}));
}

function testMarks() {
  const trace = smallTrace();
  trace.traceEvents.push(slice('fault', 'lose', 1, 6, 11.2, 0.1, {}));
  const faults = modelOf(trace).raw.filter((event) => event.cat === 'fault');
  same('a mark with a slice is one event', faults.map((event) => event.ph), ['X']);
}

function testBadTraces() {
  throws('no JSON', () => readModel('{'), 'not JSON');
  throws('no list', () => readModel('{"traceEvents":7}'), 'no list');
  throws('nothing', () => readModel('null'), 'no list');
  const odd = modelOf({
    otherData: null,
    traceEvents: [
      null, 7, 'x', {}, {ph: 'X'}, {ph: 'X', ts: '1'}, {ph: 'toString'},
      {ph: 'X', ts: 1, pid: 1, tid: 1, cat: '__proto__', args: null}, {
        ph: 'X',
        ts: 2,
        dur: -5,
        pid: 'a',
        tid: {},
        cat: 'place',
        args: {region: [], offset: -1, bytes: 'x', op: {}}
      },
      {ph: 'X', ts: 3, dur: 1e300, pid: 2, tid: 2, cat: 'poll', args: {ops: 'no', op: null}},
      {ph: 's', ts: 1, id: {}, pid: 99, tid: 99}
    ]
  });
  same('odd entries are counted, odd values are survived', [odd.count, odd.ignored], [3, 7]);
  check('an empty trace has a span', modelOf({traceEvents: []}).span === 1);
  check('Chrome\'s other form', readModel('[{"ph":"X","ts":1,"pid":1,"tid":1}]').count === 1);
}

// {"toString": 1} has no text: whoever asks for one gets an exception.
function testNastyValues() {
  const nasty = {toString: 1, valueOf: 1};
  const args = {};
  for (const key
           of ['op', 'kind', 'bytes', 'region', 'offset', 'status', 'result', 'fate', 'imm', 'tag',
               'peer', 'count', 'packet', 'node_from', 'op_node', 'object', 'id', 'length', 'name',
               'rule', 'what', 'check', 'text', 'at', 'event']) {
    args[key] = nasty;
  }
  Object.assign(
      args, {segments: [nasty, {length: nasty}, null], ops: [nasty], remote: {address: nasty}});
  const traceEvents = CATEGORIES.map(
      ({name}, n) =>
          ({ph: 'X', cat: name, name: nasty, pid: n % 3 ? 1 : nasty, tid: nasty, ts: n, args}));
  traceEvents.push({ph: 'M', name: 'process_name', pid: 1, args}, {ph: nasty, ts: 1});
  traceEvents.push({ph: 's', ts: 1, pid: nasty, tid: nasty, id: nasty});
  const model = modelOf({otherData: {program: nasty, backend: nasty, clock: nasty}, traceEvents});
  const columns = sequenceColumns(model);
  check('rows of nasty values', sequenceRows(model, columns, new Set()).length > 5);
  check('words in nasty values', new Search(model).matches('tostring op:1 region:x').length === 0);
  for (const operation of model.operations) describeOperation(model, operation);
  check('nasty facts', isSimulated(model.info) === false);
}

function testLanes() {
  const overlapping = [0, 1, 2].map((n) => slice('packet', 'p', 1, 1, n, 10, {}));
  const model = modelOf({traceEvents: [...overlapping, slice('packet', 'p', 1, 1, 10, 1, {})]});
  same('what overlaps lies in lanes', [...model.lane], [0, 1, 2, 0]);
}

// ---- operations ----

function testOperations() {
  const model = modelOf(smallTrace());
  const operation = model.operationById.get('0.3');
  same(
      'an operation has its events, the last by its flow', names(model, operation.events),
      ['post', 'packet', 'packet', 'place', 'completion', 'poll', 'resume']);
  check('completions without an operation make none', model.operations.length === 1);
  const arrows =
      arrowsOf(model, operation).map(([from, to]) => `${model.start[from]}-${model.start[to]}`);
  same(
      'arrows lead from causes: from a lost packet to its next try', arrows,
      ['1000-1200', '1200-5000', '5000-6000', '6000-7000', '7000-7500', '7500-8000']);
  const about = describeOperation(model, operation);
  same('what it is', [about.kind, about.bytes, about.imm, about.took], ['write', 4096, 7, 7000]);
}

// A write whose immediate arrives is not over for the program that posted it.
function testEnds() {
  const post = slice('post', 'write', 1, 1, 0, 0.1, {op: 1, kind: 'write', imm: 7});
  const there =
      slice('completion', 'remote write', 2, 1, 2, 0.1, {op: 1, op_node: 0, status: 'ok'});
  const here = slice('completion', 'write', 1, 2, 3, 0.1, {op: 1, op_node: 0, status: 'ok'});
  const statusOf = (...events) => {
    const model = modelOf({traceEvents: [post, ...events]});
    return describeOperation(model, model.operations[0]).status;
  };
  same('a write that nobody saw', statusOf(), 'no completion seen');
  same(
      'one that its target saw', statusOf(there),
      'its immediate arrived; no completion seen where it was posted');
  same('one that both saw', statusOf(there, here), 'ok');
}

// Packets [number, fate, bytes] at 1, 2, 3 ... µs, then placements of these packets' bytes.
function arrowsOfPackets(packets, placed) {
  const traceEvents = [slice('post', 'write', 1, 1, 0, 0.1, {op: 1, kind: 'write'})];
  packets.forEach(([packet, fate, bytes = 64], n) => {
    traceEvents.push(slice('packet', 'p', 1, 2, n + 1, 0.1, {op: 1, packet, fate, bytes}));
  });
  placed.forEach((packet, n) => {
    const args = {op: 1, op_node: 0, region: 1, offset: 1000 + 64 * packet, bytes: 64};
    traceEvents.push(slice('place', 'p', 2, 1, packets.length + 1 + n, 0.1, args));
  });
  const model = modelOf({traceEvents});
  return arrowsOf(model, model.operations[0]).map((arrow) => arrow.join('-'));
}

function testCauses() {
  same(
      'packets after each other, bytes from their packets',
      arrowsOfPackets([[0, 'arrives'], [1, 'arrives']], [1, 0]), ['0-1', '1-2', '2-3', '1-4']);
  same(
      'a packet that is sent again comes of its first try',
      arrowsOfPackets([[0, 'lost'], [1, 'arrives'], [0, 'retransmitted']], [1, 0]),
      ['0-1', '1-2', '1-3', '2-4', '3-5']);
  same(
      'nothing comes of a lost packet', arrowsOfPackets([[0, 'arrives'], [1, 'lost']], [0, 1]),
      ['0-1', '1-2', '1-3', '1-4']);
  same(
      'the bytes of a read come from its answers, and not from its request',
      arrowsOfPackets([[0, 'arrives', 0], [0, 'arrives'], [1, 'arrives']], [1, 0]),
      ['0-1', '1-2', '2-3', '3-4', '2-5']);
}

function testRegions() {
  const model = modelOf(smallTrace());
  const [region] = model.nodes.find((node) => node.pid === 2).regions;
  same(
      'a region by its name', [region.name, region.length, region.places.length],
      ['buffer', 8192, 1]);
  same(
      'which rows were touched when', [...firstTouched(model, region, 4)].map(String),
      ['Infinity', 'Infinity', '6000', '6000']);
  same('half of it is shown whole', region.shown, {from: 0, size: 8192});
  same('how much', coverage(model, region), {placed: 4096, again: 0});
  const twice = smallTrace();
  twice.traceEvents.push(slice(
      'place', 'place', 2, 3, 19, 0.05, {op: 3, op_node: 0, region: 5, offset: 6144, bytes: 2048}));
  const again = modelOf(twice);
  const large = smallTrace();
  large.traceEvents.find((event) => event.cat === 'object').args.length = 1 << 20;
  const [sparse] = modelOf(large).regions;
  same('of a large one, what was written', sparse.shown, {from: 4096, size: 4096});
  same('bytes that came twice', coverage(again, again.regions[0]), {placed: 4096, again: 2048});
}

// ---- time on the screen ----

function testView() {
  const view = new View(1000);
  view.left = 100;
  view.width = 500;
  check('everything fits', view.x(0) >= 100 && view.x(1000) <= 600);
  const at = view.ns(300);
  view.zoom(0.25, 300);
  check(
      'zooming keeps what is under the mouse',
      Math.abs(view.ns(300) - at) < 1e-6 && view.span < 300);
  for (let n = 0; n < 50; ++n) view.zoom(0.1, 300);
  check('zooming in ends', view.span === SHORTEST_VIEW);
  for (let n = 0; n < 50; ++n) view.zoom(10, 300);
  check('zooming out ends', view.span < 1300);
  view.pan(1e9);
  check('the trace stays on the screen', view.from < 1000);
  view.show(0, 100);
  view.reveal(500, 510);
  check(
      'an event is brought onto the screen',
      view.from < 500 && view.to > 510 && Math.abs(view.span - 100) < 1e-9);
}

function testBusyRange() {
  const at = (...times) => modelOf({
    traceEvents: times.map((ts) => slice('poll', 'poll', 1, 1, ts, 0.1, {})),
  });
  same('events all over: all of it', busyRange(at(1, 2, 3, 4)), [0, 3100]);
  same('a long wait at the end is left out', busyRange(at(...Array(99).keys(), 9000)), [0, 97000]);
  same(
      'so is one before', busyRange(at(0, ...Array.from({length: 99}, (_, n) => 9000 + n))),
      [9000000, 9096000]);
  same('nothing has a range', busyRange(modelOf({traceEvents: []})), [0, 1]);
}

function testLayout() {
  const model = modelOf(smallTrace());
  const open = layoutRows(model, new Set(), new Set());
  const closed = layoutRows(model, new Set([1]), new Set());
  check(
      'rows follow each other',
      open.rows.every(
          (row, i) => i === 0 || row.y === open.rows[i - 1].y + open.rows[i - 1].height));
  check(
      'a closed node has its heading only',
      closed.rows.length < open.rows.length && eventTop(model, closed, 1) === undefined);
  const row = open.byTrack.get(model.track[1]);
  check('a row is found by its place', rowAt(open, row.y + 1) === row);
  const view = new View(model.span);
  view.left = 0;
  view.width = 1000;
  const lane = row.track.lanes[0];
  same('an event is found by its place', eventAt(model, lane, view, view.x(1050), 3), 1);
  same('and nothing where nothing is', eventAt(model, lane, view, view.x(4000), 3), -1);
}

// ---- search ----

function testQuery() {
  const model = modelOf(smallTrace());
  const search = new Search(model);
  const find = (text) => names(model, search.matches(text));
  same('nothing is searched', find('  '), []);
  same('a word of a name', find('WRITE'), ['post', 'completion']);
  same('a track', find('wire'), ['packet', 'packet']);
  same('a category', find('cat:pla'), ['place']);
  same('what went wrong', find('status:lost'), ['packet']);
  same('a field and a word', find('packet fate:retrans'), ['packet']);
  same('an operation', find('op:0.3').length, 7);
  same('an operation of any node', find('op:3').length, 7);
  same('not another one', find('op:13'), []);
  same('a node', find('node:1'), ['object', 'place']);
  same('an argument\'s name is no property of the page', find('constructor:x __proto__:y'), []);
}

// ---- sequence ----

function testFolding() {
  const fold = (text) => foldRepeats([...text]).map(
      (piece) =>
          text.slice(piece.at, piece.at + piece.count) + (piece.times ? '*' + piece.times : ''));
  same('little is not folded', fold('aaabc'), ['a', 'a', 'a', 'b', 'c']);
  same('repetition is', fold('xaaaaaaay'), ['x', 'a', 'aaaaa*5', 'a', 'y']);
  same('five are too few', fold('aaaaa').length, 5);
  same('so are patterns', fold('abcabcabcabcd'), ['abc', 'abcabc*2', 'abc', 'd']);
  same(
      'all items are there',
      foldRepeats([...'aaaabababab']).reduce((sum, piece) => sum + piece.count, 0), 11);
}

function testSequence() {
  const model = modelOf(smallTrace());
  const columns = sequenceColumns(model);
  same(
      'client, fabric, server', columns.columns.map((column) => column.name),
      ['node 1: client', 'fabric', 'node 0: server']);
  const rows = sequenceRows(model, columns, new Set());
  same('rows', rows.map((row) => row.phase ? row.phase : `${row.from}>${row.to} ${row.text}`), [
    'Setup', '0>1 open region(8 KiB)', 'Writes', '2>1 write(4 KiB)', '1>1 packet lost',
    '1>1 fault: packet lost', '1>1 packet retransmitted', '1>0 4 KiB placed in buffer',
    '1>2 completion: write', '2>2 poll()', '2>2 resume'
  ]);
  same('notes', rows[3].note, 'op 0.3, imm 7');
  same('an event\'s row', rowOfEvent(rows, 5), 7);
}

function testSequenceFolds() {
  const posts = Array.from(
      {length: 10},
      (_, n) => slice('post', 'write', 1, 9, n, 0.1, {op: n, kind: 'write', bytes: 64}));
  const model = modelOf({traceEvents: posts});
  const columns = sequenceColumns(model);
  const rows = sequenceRows(model, columns, new Set());
  same(
      'repeated calls are one row', rows.map((row) => row.phase || row.fold || row.text),
      ['Writes', 'write(64 B)', '8 more times: write(64 B)', 'write(64 B)']);
  same('its events lead to it', [1, 8, 9].map((event) => rowOfEvent(rows, event)), [2, 2, 3]);
  same('it opens', sequenceRows(model, columns, new Set([rows[2].event])).length, 11);
}

function runTests() {
  for (const test
           of [testUnits, testSearches, testReading, testMarks, testBadTraces, testNastyValues,
               testLanes, testOperations, testEnds, testCauses, testRegions, testView,
               testBusyRange, testLayout, testQuery, testFolding, testSequence,
               testSequenceFolds]) {
    try {
      test();
    } catch (error) {
      check(`${test.name}: ${error}`, false);
    }
  }
  const bad = report.filter((each) => !each.good);
  document.body.replaceChildren(
      ...bad.map((each) => element('p', 'FAILED: ' + each.what)),
      element('p', `${report.length - bad.length} passed, ${bad.length} failed`));
}
