// The panel at the right: the chosen event with its whole operation, or, while nothing is chosen,
// how to read the page.

function showDetails(page) {
  const panel = byId('details');
  panel.replaceChildren();
  panel.scrollTop = 0;
  if (page.chosen >= 0)
    panel.append(...eventDetails(page), ...operationDetails(page));
  else
    panel.append(...guide(page), ...summary(page), byId('keys').content.cloneNode(true));
}

// The texts are in page.html.
function guide(page) {
  const parts = [byId(page.mode + '-guide').content.cloneNode(true)];
  if (page.simulated) {
    const text = 'This run was simulated: its times are the model\'s, plausible and not measured.';
    parts.push(element('p', text));
  }
  return parts;
}

function summary(page) {
  const {model} = page;
  const counts = new Array(CATEGORIES.length).fill(0);
  for (let event = 0; event < model.count; ++event) counts[model.category[event]] += 1;
  const rows = [];
  counts.forEach((count, category) => {
    if (count > 0) {
      rows.push({
        cells: [swatched(category, CATEGORIES[category].name), formatCount(count)],
        numbers: [1]
      });
    }
  });
  const parts = [
    element(
        'h2',
        `${formatCount(model.count)} events of ${plural(model.operations.length, 'operation')}`),
    table(rows)
  ];
  parts.push(...troubleList(page), ...hiccupList(page));
  if (model.ignored > 0) {
    parts.push(element(
        'p',
        `not understood, and left out: ${plural(model.ignored, 'entry', 'entries')} of the file`,
        'bad'));
  }
  return parts;
}

const MOST_LISTED = 12;

function eventList(page, title, events, className, more) {
  const {model} = page;
  const rows = events.slice(0, MOST_LISTED).map((event) => {
    const what = swatched(model.category[event], eventText(model, event));
    return {cells: [formatTime(model.start[event]), what], event};
  });
  const heading = element('h2', `${title} (${formatCount(events.length)})`, className);
  const left = events.length - MOST_LISTED;
  const parts = [heading, table(rows, page.choose)];
  if (left > 0) parts.push(element('p', `and ${formatCount(left)} more${more}`));
  return parts;
}

function troubleList(page) {
  const {marks} = page.model;
  if (marks.length === 0) return [];
  return eventList(page, 'What went wrong', marks, 'bad', ': keys E and Shift+E go through them');
}

function hiccupList(page) {
  const events = [...page.model.hiccups.keys()];
  if (events.length === 0) return [];
  const text = 'Packets that were lost, sent again or came twice, and queues that were full: the ' +
      'device or another try makes good for it, later or in another order.';
  return [...eventList(page, 'Not smoothly', events, 'hiccup', ''), element('p', text)];
}

// An event's name, and what befell it unless the name says so.
function eventText(model, event) {
  const name = String(model.raw[event].name);
  const said = model.trouble.get(event) || model.hiccups.get(event) || '';
  return name.includes(said) ? name : `${name}: ${said}`;
}

function valueText(value) {
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return text.length > 400 ? `${text.slice(0, 80)}… (${formatCount(text.length)} characters)` :
                             text;
}

const BYTE_ARGUMENTS = new Set(['bytes', 'length', 'offset']);

function argumentText(key, value) {
  if (BYTE_ARGUMENTS.has(key) && Number.isFinite(value) && value >= 1024) {
    return `${formatBytes(value)} (${formatCount(value)})`;
  }
  return valueText(value);
}

// Events of the same nanosecond are drawn one after the other; "at" says when they really were.
function realStart(model, event) {
  const {at} = model.raw[event].args;
  return Number.isFinite(at) ? at - model.first : model.start[event];
}

function eventDetails(page) {
  const {model} = page;
  const event = page.chosen;
  const raw = model.raw[event];
  const category = model.category[event];
  const track = model.tracks[model.track[event]];
  const rows = [
    {cells: ['what', swatched(category, `${raw.cat}: ${CATEGORIES[category].says}`)]},
    {cells: ['where', `${track.node.name}, ${track.name}`]},
    {cells: ['when', `${formatTime(realStart(model, event), 7)} after the first event`]},
  ];
  if (model.end[event] > model.start[event]) {
    rows.push({cells: ['drawn for', formatTime(model.end[event] - model.start[event])]});
  }
  for (const [key, value] of Object.entries(raw.args)) {
    if (key === 'at') continue;
    const bad = (key === 'status' || key === 'result') && model.trouble.has(event);
    rows.push({cells: [key, element('span', argumentText(key, value), bad ? 'bad' : '')]});
  }
  return [element('h2', String(raw.name)), table(rows)];
}

function operationDetails(page) {
  const {model} = page;
  const index = model.operation[page.chosen];
  if (index < 0) return [];
  const operation = model.operations[index];
  const about = describeOperation(model, operation);
  const size = Number.isFinite(about.bytes) ? ', ' + formatBytes(about.bytes) : '';
  const heading = element('h2', `Operation ${operation.id}: ${about.kind}${size}`);
  const line = element(
      'p',
      `${about.status}; ${formatTime(about.took)} from its first event to its last. ` +
          'Each line: the time since the line before.',
      about.bad ? 'bad' : '');
  const rows = operation.events.slice(0, 500).map((event, at) => {
    const since = at === 0 ? 0 : model.start[event] - model.start[operation.events[at - 1]];
    const where = 'node ' + model.tracks[model.track[event]].node.number;
    const what = swatched(model.category[event], eventText(model, event));
    return {cells: ['+' + formatTime(since), what, where], event, chosen: event === page.chosen};
  });
  return [heading, line, table(rows, page.choose)];
}

function tooltipText(page, event) {
  const {model} = page;
  const raw = model.raw[event];
  const operation = model.operation[event];
  const lines = [`${raw.name} (${raw.cat})`, `at ${formatTime(model.start[event], 6)}`];
  if (operation >= 0) lines[1] += `, operation ${model.operations[operation].id}`;
  if (raw.cat === 'place') {
    const {offset, bytes} = rangeOf(model, event);
    const range = `bytes ${formatCount(offset)} to ${formatCount(offset + bytes - 1)}`;
    lines.push(range + ' of ' + regionName(model, raw));
  }
  const said = model.trouble.get(event) || model.hiccups.get(event);
  if (said) lines.push(said);
  return lines.join('\n');
}
