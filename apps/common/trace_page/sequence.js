// The trace as a sequence diagram: one column for each program, the fabric between them, and a row
// for each call, each placement and each completion. A column's number: 0 is the leftmost.

// Clients on the left, as in the usual figure; the fabric in the middle.
function sequenceColumns(model) {
  const nodes = [...model.nodes];
  const rank = (node) => /client/i.test(node.name) ? 0 : /server/i.test(node.name) ? 2 : 1;
  nodes.sort((a, b) => rank(a) - rank(b));
  const middle = Math.ceil(nodes.length / 2);
  const columns = nodes.map((node) => ({name: node.name, pid: node.pid}));
  columns.splice(middle, 0, {name: 'fabric', pid: null});
  return {
    columns,
    fabric: middle,
    of: new Map(columns.map((column, index) => [column.pid, index]))
  };
}

const PHASES = {
  write: 'Writes',
  read: 'Reads',
  atomic: 'Atomics',
  send: 'Messages',
  'tagged send': 'Messages'
};

// The heading under which an event stands, or "" if it goes on under the one before.
function phaseOf(raw) {
  if (raw.cat === 'object') return raw.args.event === 'close' ? 'Closing' : 'Setup';
  return raw.cat === 'post' && Object.hasOwn(PHASES, raw.args.kind) ? PHASES[raw.args.kind] : '';
}

function bytesOf(args) {
  if (Number.isFinite(args.bytes)) return args.bytes;
  if (Number.isFinite(args.length)) return args.length;
  if (!Array.isArray(args.segments)) return undefined;
  return args.segments.reduce((sum, segment) => sum + (Number(segment.length) || 0), 0);
}

function call(name, inside) {
  return name + '(' + (inside || '') + ')';
}

function sizeOf(args) {
  const bytes = bytesOf(args);
  return bytes === undefined ? '' : formatBytes(bytes);
}

function notes(...parts) {
  return parts.filter((part) => part).join(', ');
}

// For each category: the row's text, the note at its right, and the direction: "out" to the fabric,
// "in" from it, "self" at the program, "fabric" at the fabric itself. No entry: no row.
const ROW_OF = {
  object: (raw, args) => ({
    way: 'out',
    text: call(`${args.event || 'open'} ${args.object || ''}`, sizeOf(args)),
    note: notes(args.name, args.id !== undefined && `id ${args.id}`, args.provider, args.address)
  }),
  post: (raw, args) => ({
    way: 'out',
    text: call(args.kind || raw.name, sizeOf(args)),
    note: notes(
        args.imm !== undefined && `imm ${args.imm}`, args.tag !== undefined && `tag ${args.tag}`,
        args.remote && `to ${args.remote.address}`, args.peer !== undefined && `peer ${args.peer}`)
  }),
  packet: (raw, args) => args.fate === undefined || args.fate === 'arrives' ?
      null :
      {way: 'fabric', text: `packet ${args.fate}`, note: sizeOf(args)},
  place: (raw, args, model) => ({
    way: 'in',
    short: 'bytes placed',
    text: `${sizeOf(args)} placed` +
        (args.region === undefined ? '' : ' in ' + regionName(model, raw)),
    note: args.offset === undefined ? '' : `from byte ${formatCount(Number(args.offset) || 0)}`
  }),
  completion: (raw, args) => ({
    way: 'in',
    dashed: true,
    text: `completion: ${args.kind || raw.name}`,
    note: notes(args.status, args.imm !== undefined && `imm ${args.imm}`)
  }),
  poll: (raw, args) => ({
    way: 'self',
    text: call('poll'),
    note: args.count === undefined ? '' : plural(Number(args.count) || 0, 'completion')
  }),
  resume: () => ({way: 'self', text: 'resume', note: 'the coroutine goes on'}),
  fault: (raw, args) =>
      ({way: 'fabric', text: 'fault: ' + (args.what || raw.name), note: args.rule}),
  check: (raw, args) =>
      ({way: 'self', text: 'check: ' + (args.check || raw.name), note: args.text}),
};

function rowOf(model, columns, event) {
  const raw = model.raw[event];
  const make = Object.hasOwn(ROW_OF, raw.cat) ? ROW_OF[raw.cat] : null;
  const row = make && make(raw, raw.args, model);
  if (!row) return null;
  const program = columns.of.get(raw.pid);
  const fromFabric = row.way === 'in' || row.way === 'fabric';
  const toFabric = row.way === 'out' || row.way === 'fabric';
  const operation = model.operation[event];
  const op = operation >= 0 && row.way !== 'self' ? 'op ' + model.operations[operation].id : '';
  return {
    event,
    from: fromFabric ? columns.fabric : program,
    to: toFabric ? columns.fabric : program,
    dashed: row.dashed === true,
    text: String(row.text),
    short: row.short || String(row.text),
    note: notes(op, row.note && String(row.note)),
    bad: model.trouble.has(event) || raw.cat === 'fault' || raw.cat === 'check'
  };
}

// What rows must have in common to be the same thing again: not the operation, not the place in
// memory.
function rowKey(model, row) {
  if (row.phase) return 'phase ' + row.phase;
  return [
    row.from, row.to, row.bad, row.bad ? row.event : '', model.category[row.event], row.short
  ].join(' ');
}

function allRows(model, columns) {
  const rows = [];
  let phase = '';
  for (let event = 0; event < model.count; ++event) {
    const now = phaseOf(model.raw[event]);
    const row = rowOf(model, columns, event);
    if (!row) continue;
    if (now && now !== phase) rows.push({event, phase: now});
    phase = now || phase;
    rows.push(row);
  }
  return rows;
}

// The rows that are shown. `open`: folds that the reader opened, by their first event.
function sequenceRows(model, columns, open) {
  const rows = allRows(model, columns);
  const shown = [];
  for (const piece of foldRepeats(rows.map((row) => rowKey(model, row)))) {
    const first = rows[piece.at];
    if (piece.times === undefined || open.has(first.event)) {
      for (let i = 0; i < piece.count; ++i) shown.push(rows[piece.at + i]);
      continue;
    }
    const last = rows[piece.at + piece.count - 1];
    const what = rows.slice(piece.at, piece.at + piece.period).map((row) => row.short).join(' · ');
    shown.push({
      event: first.event,
      last: last.event,
      fold: `${plural(piece.times, 'more time')}: ${what}`
    });
  }
  return shown;
}

// The row that shows an event, or the one nearest before it.
function rowOfEvent(rows, event) {
  let best = -1;
  for (let i = 0; i < rows.length; ++i) {
    const {event: first, last, phase} = rows[i];
    if (phase) continue;
    if (first === event || (last !== undefined && first <= event && event <= last)) return i;
    if (first < event) best = i;
  }
  return best;
}
