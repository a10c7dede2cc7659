// Registered memory, and what was placed in it when: one lane of the picture for each region.

// All regions of the trace, in `model.regions`, and in their nodes' `regions` those that bytes were
// placed in.
function readRegions(model) {
  const byKey = new Map();
  const find = (pid, id) => {
    const key = pid + ' ' + id;
    if (!byKey.has(key))
      byKey.set(key, {pid, id, length: 0, opened: -1, places: [], name: 'region ' + id});
    return byKey.get(key);
  };
  for (let event = 0; event < model.count; ++event) {
    const {pid, args} = model.raw[event];
    if (model.category[event] === CATEGORY.object && args.object === 'region' &&
        args.event !== 'close') {
      const region = find(pid, args.id);
      region.opened = event;
      region.length = Number(args.length) || 0;
      if (args.name !== undefined) region.name = String(args.name);
    }
    if (model.category[event] === CATEGORY.place && args.region !== undefined) {
      find(pid, args.region).places.push(event);
    }
  }
  model.regionByKey = byKey;
  model.regions = [...byKey.values()];
  for (const region of model.regions) finishRegion(model, region);
  for (const node of model.nodes) node.regions.sort((a, b) => a.id - b.id || a.opened - b.opened);
}

function finishRegion(model, region) {
  for (const event of region.places) {
    const {offset, bytes} = rangeOf(model, event);
    region.length = Math.max(region.length, offset + bytes);
  }
  if (region.places.length === 0 || region.length === 0) return;
  region.shown = shownRange(model, region);
  region.places = Uint32Array.from(region.places);
  region.latest = latestEnds(region.places, model.end);
  const node = model.nodes.find((each) => each.pid === region.pid);
  if (node) node.regions.push(region);
}

// The part of a region that its lane shows: all of it, or, where only a small part was written,
// that.
function shownRange(model, region) {
  let [from, to] = [Infinity, 0];
  for (const event of region.places) {
    const {offset, bytes} = rangeOf(model, event);
    from = Math.min(from, offset);
    to = Math.max(to, offset + bytes);
  }
  const small = to > from && to - from < region.length / 4;
  return small ? {from, size: to - from} : {from: 0, size: region.length};
}

// The name of the region that a placement is in.
function regionName(model, raw) {
  const region = model.regionByKey.get(raw.pid + ' ' + raw.args.region);
  return region ? region.name : 'region ' + raw.args.region;
}

function rangeOf(model, event) {
  const args = model.raw[event].args;
  return {
    offset: Math.max(0, Number(args.offset) || 0),
    bytes: Math.max(0, Number(args.bytes) || 0)
  };
}

// What is shown of the region in `rows` rows of equal size: when each row first got a byte.
// Infinity: never.
function firstTouched(model, region, rows) {
  const first = new Float64Array(rows).fill(Infinity);
  const {from, size} = region.shown;
  const perByte = rows / size;
  for (const event of region.places) {
    const {offset, bytes} = rangeOf(model, event);
    const last = Math.min(rows - 1, Math.ceil((offset - from + bytes) * perByte) - 1);
    for (let row = Math.floor((offset - from) * perByte); row <= last; ++row) {
      first[row] = Math.min(first[row], model.start[event]);
    }
  }
  return first;
}

// How many different bytes of the region were placed, and how many more than once.
function coverage(model, region) {
  const ranges = Array.from(region.places, (event) => rangeOf(model, event))
                     .sort((a, b) => a.offset - b.offset);
  let placed = 0;
  let again = 0;
  let end = 0;
  for (const {offset, bytes} of ranges) {
    const fresh = Math.max(0, offset + bytes - Math.max(end, offset));
    placed += fresh;
    again += bytes - fresh;
    end = Math.max(end, offset + bytes);
  }
  return {placed, again};
}
