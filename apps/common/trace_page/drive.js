// Uses the page of example.json as a person would, and reads what it shows. page_test.sh puts this
// at the end of the page; the last word is in the document's title: "N passed, M failed".

const results = [];

function expect(what, condition) {
  results.push({what, good: Boolean(condition)});
}

function text(id) {
  return document.getElementById(id).textContent;
}

function heading() {
  return document.querySelector('#details h2').textContent;
}

function frame() {
  return new Promise((done) => setTimeout(done, 5));
}

async function press(key) {
  document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
  await frame();
}

async function mouse(type, x, y, more = {}) {
  const canvas = document.getElementById('plot');
  const box = canvas.getBoundingClientRect();
  const about = {
    clientX: box.left + x,
    clientY: box.top + y,
    bubbles: true,
    cancelable: true,
    pointerId: 1,
    button: 0,
    ...more
  };
  canvas.dispatchEvent(
      type === 'wheel' ? new WheelEvent(type, about) : new PointerEvent(type, about));
  await frame();
}

async function drag(from, to, more) {
  await mouse('pointerdown', ...from, more);
  await mouse('pointermove', ...to, {...more, buttons: 1});
  await mouse('pointerup', ...to, more);
}

// How much time is on the screen, in ns; undefined if it does not say so.
function shown() {
  const match = /on the screen: ([\d.]+) (ns|µs)/.exec(text('hint'));
  return match && Number(match[1]) * (match[2] === 'µs' ? 1000 : 1);
}

async function look() {
  expect('the title names the program', document.title === 'example: Drydock trace');
  expect(
      'the run is described',
      /sim \(efa-direct, profile test\) · seed 7 · virtual clock · 90 events/.test(
          text('facts')));
  expect('it says simulated', !document.getElementById('simulated').hidden);
  expect('a newcomer is told how to read it', heading() === 'How to read this');
  expect(
      'what went wrong is listed',
      /What went wrong \(3\)[^]*Not smoothly \(2\)/.test(text('details')));
  expect(
      'the legend has what the trace has',
      document.querySelectorAll('#legend button').length === 10);
}

async function zoom() {
  const whole = shown();
  await mouse('wheel', 600, 100, {deltaY: -300});
  const closer = shown();
  expect('the wheel zooms in', closer < whole);
  await press('w');
  expect('so does W', shown() < closer);
  await press('f');
  expect('F shows everything', shown() === whole);
  await drag([500, 10], [700, 10]);
  expect('a range of the ruler is zoomed into', shown() < whole / 3);
  await press('0');
}

async function find() {
  const box = document.getElementById('search');
  box.value = 'cat:place offset:4096';
  box.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}));
  await frame();
  expect('a match is counted', text('matches') === '1 of 1 match');
  expect(
      'and chosen, with its operation',
      heading() === 'place 4096 B' && /Operation 0\.3: write, 4 KiB/.test(text('details')));
  await press(']');
  expect('] is the next of the operation', heading() === 'remote write');
  await press('ArrowRight');
  expect(
      '→ is the next of the track',
      heading() === 'remote write' && text('details').includes('op6op_node0'));
  await press('e');
  expect('E goes to what went wrong', heading() === 'remote-bounds');
  await press('Escape');
  expect('Escape chooses nothing', heading() === 'How to read this');
  box.value = '';
  box.dispatchEvent(new Event('input'));
  await new Promise((done) => setTimeout(done, 200));
  expect('an empty search finds nothing', text('matches') === '');
}

// Where on the first track there is an event, and what the page says of it there.
async function findEvent(y) {
  const {width} = document.getElementById('plot').getBoundingClientRect();
  for (let x = 260; x < width; x += 3) {
    await mouse('pointermove', x, y);
    if (!document.getElementById('tooltip').hidden) return [x, text('tooltip')];
  }
  return [0, 'nothing'];
}

async function clickSomething() {
  const y = 24 + 26 + 12;  // below the ruler and the heading
  const [x, said] = await findEvent(y);
  expect('the mouse finds the first resume', said.startsWith('resume (resume)'));
  await drag([x, y], [x, y]);
  expect('a click chooses it', heading() === 'resume');
  const before = shown();
  await mouse('dblclick', x, y);
  expect('a double click zooms to it', shown() < before);
  await press('f');
  await drag([40, 30], [40, 30]);
  await mouse('pointermove', x, y);
  expect('a machine folds', document.getElementById('tooltip').hidden);
  await drag([40, 30], [40, 30]);
  await mouse('pointermove', x, y);
  expect('and unfolds', text('tooltip') === said);
  await press('Escape');
}

async function legend() {
  const button = (name) => Array.from(document.querySelectorAll('#legend button'))
                               .find((each) => each.textContent === name);
  button('packet').click();
  expect('a kind is hidden', button('packet').className === 'off');
  button('packet').click();
  expect('and shown', button('packet').className === '');
}

async function sequence() {
  await press('2');
  expect(
      '2 is the sequence diagram',
      document.getElementById('show-sequence').getAttribute('aria-selected') === 'true');
  expect('it is explained', /upright line/.test(text('details')));
  await drag([200, 34 + 8 + 12 + 24], [200, 34 + 8 + 12 + 24]);
  expect('a row can be chosen', heading() === 'open nic');
  await press('1');
  const dark = document.documentElement.classList.contains('dark');
  await press('t');
  expect(
      'T changes between light and dark',
      document.documentElement.classList.contains('dark') !== dark);
}

async function drive() {
  for (const part of [look, zoom, find, clickSomething, legend, sequence]) {
    try {
      await part();
    } catch (error) {
      expect(`${part.name}: ${error}`, false);
    }
  }
  const bad = results.filter((each) => !each.good);
  document.title = `${results.length - bad.length} passed, ${bad.length} failed` +
      bad.map((each) => '; FAILED: ' + each.what).join('');
}

window.addEventListener('load', drive);
