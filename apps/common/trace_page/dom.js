// Elements of the page. A trace's strings come from peers and files: they become text, never
// markup.

function byId(id) {
  return document.getElementById(id);
}

function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// A table of two or more columns; a row with `event` is a link to it. Cells are texts or elements.
function table(rows, choose) {
  const made = element('table');
  for (const row of rows) {
    const line = element('tr');
    row.cells.forEach((cell, index) => {
      const box = element(
          'td', undefined, row.numbers && row.numbers.includes(index) ? 'number' : row.className);
      box.append(cell);
      line.append(box);
    });
    if (row.event !== undefined) {
      line.className = row.chosen ? 'link chosen' : 'link';
      line.addEventListener('click', () => choose(row.event));
    }
    made.append(line);
  }
  return made;
}

function swatch(category) {
  const colour = element('i');
  colour.style.background = `var(--${CATEGORIES[category].name})`;
  return colour;
}

function swatched(category, text) {
  const cell = element('span');
  cell.append(swatch(category), text);
  return cell;
}
