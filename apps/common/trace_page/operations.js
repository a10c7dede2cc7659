// Which events belong to one operation. An event says so itself (op, op_node, a poll's ops); of
// those that do not, a flow that passes through says it.

function nodeNumberOf(event) {
  const args = event.args;
  if (args.op_node !== undefined) return args.op_node;
  if (event.cat === 'packet' && args.node_from !== undefined) return args.node_from;
  return event.pid - 1;
}

class Operations {
  constructor(model) {
    this.model = model;
    this.list = [];
    this.byId = new Map();
    model.operation = new Int32Array(model.count).fill(-1);
  }

  get(id) {
    let operation = this.byId.get(id);
    if (operation === undefined) {
      operation = {index: this.list.length, id, events: []};
      this.list.push(operation);
      this.byId.set(id, operation);
    }
    return operation;
  }

  // An event can belong to several operations (a poll); the first one is its own.
  add(id, event) {
    const operation = this.get(id);
    const events = operation.events;
    if (events[events.length - 1] === event) return;
    events.push(event);
    if (this.model.operation[event] < 0) this.model.operation[event] = operation.index;
  }

  addByArguments(event) {
    const raw = this.model.raw[event];
    const args = raw.args;
    if (args.op !== undefined) this.add(nodeNumberOf(raw) + '.' + args.op, event);
    if (!Array.isArray(args.ops)) return;
    for (const op of args.ops) {
      if (op !== 0)
        this.add(
            raw.pid - 1 + '.' + op, event);  // 0: a completion that no operation here asked for
    }
  }
}

// The slice of a track in which a step of a flow lies, or -1.
function sliceAt(model, track, ns) {
  for (const lane of track.lanes) {
    let at = lowerBound(lane.events, model.start, ns + 1);
    for (let tries = 0; at > 0 && tries < 8; ++tries) {
      const event = lane.events[--at];
      if (model.end[event] >= ns) return event;
    }
  }
  return -1;
}

function readOperations(model, flows, tracks) {
  const operations = new Operations(model);
  for (let event = 0; event < model.count; ++event) operations.addByArguments(event);
  const known = operations.list.length;
  for (const flow of flows) {
    const track = tracks.byKey.get(flow.pid + ':' + flow.tid);
    const event = track ? sliceAt(model, track, Math.round(flow.ts * 1000 - model.first)) : -1;
    if (event >= 0 && model.operation[event] < 0) operations.add(String(flow.id), event);
  }
  model.operations = operations.list;
  model.operationById = operations.byId;
  if (model.operations.length > known || flows.length > 0) {
    for (const operation of model.operations) operation.events.sort((a, b) => a - b);
  }
}

// What an operation is, by its post: kind, bytes, imm; and how it ended. The completion that a
// write's immediate makes at its target is not the one that its program waits for.
function describeOperation(model, operation) {
  const first = operation.events.find((event) => model.category[event] === CATEGORY.post);
  const args = first === undefined ? {} : model.raw[first].args;
  const ends = operation.events.filter((event) => model.category[event] === CATEGORY.completion);
  const own = ends.some((event) => nodeNumberOf(model.raw[event]) === model.raw[event].pid - 1);
  const trouble =
      operation.events.map((event) => model.trouble.get(event)).find((text) => text !== undefined);
  return {
    kind: args.kind === undefined ? 'operation' : String(args.kind),
    bytes: args.bytes,
    imm: args.imm,
    status: trouble ||
        (own                 ? 'ok' :
             ends.length > 0 ? 'its immediate arrived; no completion seen where it was posted' :
                               'no completion seen'),
    bad: trouble !== undefined,
    took: operation.events.length > 0 ? model.start[operation.events[operation.events.length - 1]] -
            model.start[operation.events[0]] :
                                        0,
  };
}
