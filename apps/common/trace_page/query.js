// What is typed into the search box -> the events that match. Words are looked for in an event's
// name, track and arguments; all of them must be there. "op:0.17" and the like look at one thing
// only.

// "write status:lost op:0.17" -> words and [key, value] pairs, in small letters.
function parseQuery(text) {
  const terms = {words: [], fields: []};
  for (const term of text.toLowerCase().split(/\s+/)) {
    const colon = term.indexOf(':');
    if (colon > 0 && colon < term.length - 1)
      terms.fields.push([term.slice(0, colon), term.slice(colon + 1)]);
    else if (term !== '')
      terms.words.push(term.replace(/:$/, ''));
  }
  return terms;
}

const LONGEST_VALUE = 200;  // payloads can be megabytes

function searchText(model, event) {
  const raw = model.raw[event];
  const parts = [raw.name, raw.cat, model.tracks[model.track[event]].name];
  for (const key of Object.keys(raw.args)) {
    const value = raw.args[key];
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
    parts.push(key, text.length > LONGEST_VALUE ? text.slice(0, LONGEST_VALUE) : text);
  }
  return parts.join(' ').toLowerCase();
}

// Whether an operation is meant by "17" (of any node) or "0.17".
function isOperation(model, event, value) {
  const index = model.operation[event];
  if (index < 0) return false;
  const named = (id) => id === value || (!value.includes('.') && id.endsWith('.' + value));
  if (named(model.operations[index].id)) return true;
  const {args, pid} = model.raw[event];
  return Array.isArray(args.ops) && args.ops.some((op) => named(pid - 1 + '.' + op));
}

function fieldMatches(model, event, key, value) {
  const raw = model.raw[event];
  if (key === 'op' || key === 'operation') return isOperation(model, event, value);
  if (key === 'node') return String(raw.pid - 1) === value;
  if (key === 'cat') return String(raw.cat).startsWith(value);
  const said = model.trouble.get(event) || model.hiccups.get(event) || '';
  if (key === 'status' && said.toLowerCase().includes(value)) return true;
  return Object.hasOwn(raw.args, key) &&
      JSON.stringify(raw.args[key]).toLowerCase().includes(value);
}

class Search {
  constructor(model) {
    this.model = model;
    this.texts = null;  // made at the first search for a word
  }

  matches(text) {
    const {words, fields} = parseQuery(text);
    const found = [];
    if (words.length + fields.length === 0) return found;
    if (words.length > 0 && this.texts === null) {
      this.texts = this.model.raw.map((_, event) => searchText(this.model, event));
    }
    for (let event = 0; event < this.model.count; ++event) {
      if (fields.every(([key, value]) => fieldMatches(this.model, event, key, value)) &&
          words.every((word) => this.texts[event].includes(word))) {
        found.push(event);
      }
    }
    return found;
  }
}
