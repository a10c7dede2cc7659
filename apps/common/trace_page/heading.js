// What is above the picture: which run this is, and the legend, which also hides and shows kinds of
// events.

function showHeading(page) {
  const {info, count, span} = page.model;
  const program = typeof info.program === 'string' ? info.program : 'trace';
  document.title = `${program}: Drydock trace`;
  byId('title').textContent = `Trace of ${program}`;
  byId('simulated').hidden = !page.simulated;
  const facts = [];
  if (info.backend !== undefined) facts.push('on ' + info.backend);
  if (info.seed !== undefined) facts.push('seed ' + info.seed);
  if (info.clock !== undefined) facts.push(info.clock + ' clock');
  facts.push(plural(count, 'event'), formatTime(span));
  const line = byId('facts');
  line.textContent = facts.join(' · ');
  if (info.dropped > 0)
    line.append(' · ', element('span', `${formatCount(info.dropped)} events dropped`, 'bad'));
}

// Whether the times are a model's.
function isSimulated(info) {
  if (typeof info.simulated === 'boolean') return info.simulated;
  return info.clock === 'virtual' || /^sim/.test(String(info.backend));
}

function showLegend(page) {
  const legend = byId('legend');
  legend.replaceChildren();
  const present = new Set(page.model.category);
  let journey = false;
  CATEGORIES.forEach((category, index) => {
    if (!present.has(index)) return;
    if (index <= CATEGORY.resume) {
      if (journey) legend.append('→');
      journey = true;
    } else if (journey) {
      legend.append(element('span', '', 'gap'));
      journey = false;
    }
    legend.append(legendButton(page, category, index));
  });
  legend.append(element('span', 'an operation\'s way through the tracks; click a kind to hide it'));
}

function legendButton(page, category, index) {
  const button = element('button', undefined, page.hidden.has(index) ? 'off' : '');
  button.title = category.says;
  button.append(swatch(index), category.name);
  button.addEventListener('click', () => {
    if (!page.hidden.delete(index)) page.hidden.add(index);
    showLegend(page);
    page.redraw();
  });
  return button;
}
