// Makes of what a file says what the page expects. JSON can say {"toString": 1}, of which no text
// can be made: from here on values are numbers, texts and truths, but for the few lists below.

function plainText(value) {
  if (typeof value === 'string') return value;
  if (value === undefined) return '';
  try {
    return JSON.stringify(value);
  } catch {
    return '…';  // nested too deeply
  }
}

function plainValue(value) {
  return typeof value === 'object' ? plainText(value) : value;
}

// Of an object's members, all plain but those that `keep` makes plain in a way of their own.
function plainMembers(object, keep = {}) {
  const members = {};
  if (object === null || typeof object !== 'object') return members;
  for (const key of Object.keys(object)) {
    const value = object[key];
    const make = typeof value === 'object' && Object.hasOwn(keep, key) ? keep[key] : plainValue;
    members[key] = make(value);
  }
  return members;
}

function plainList(list) {
  return Array.isArray(list) ? list.map(plainValue) : [];
}

const STRUCTURED = {
  access: plainList,
  ops: plainList,
  statuses: plainList,
  remote: plainMembers,
  segments: (list) => Array.isArray(list) ? list.map((each) => plainMembers(each)) : [],
};

// Changes the event in place: there may be many.
function makePlain(event) {
  event.name = plainText(event.name);
  event.cat = plainText(event.cat);
  event.pid = plainValue(event.pid);
  event.tid = plainValue(event.tid);
  event.id = plainValue(event.id);
  event.args = plainMembers(event.args, STRUCTURED);
}
