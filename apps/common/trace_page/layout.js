// Where everything is from top to bottom: a heading for each node, its tracks, and a lane for each
// region that bytes were placed in. Pixels from the top of the whole picture, which is higher than
// the screen.

const HEADING_HEIGHT = 26;
const LANE_HEIGHT = 20;
const ROW_PADDING = 5;
const REGION_HEIGHT = 64;
const REGION_HEIGHT_OPEN = 220;

function trackHeight(track) {
  return Math.max(1, track.lanes.length) * LANE_HEIGHT + ROW_PADDING;
}

// `closed`: pids whose tracks are folded away. `tall`: regions that are drawn high.
function layoutRows(model, closed, tall) {
  const rows = [];
  let y = 0;
  const push = (row, height) => {
    rows.push({...row, y, height});
    y += height;
  };
  for (const node of model.nodes) {
    push({type: 'node', node, open: !closed.has(node.pid)}, HEADING_HEIGHT);
    if (closed.has(node.pid)) continue;
    for (const track of node.tracks) {
      if (track.events.length > 0) push({type: 'track', node, track}, trackHeight(track));
    }
    for (const region of node.regions) {
      push({type: 'region', node, region}, tall.has(region) ? REGION_HEIGHT_OPEN : REGION_HEIGHT);
    }
  }
  const byTrack = new Map();
  for (const row of rows)
    if (row.type === 'track') byTrack.set(row.track.index, row);
  return {rows, byTrack, height: y + 8};
}

function rowAt(layout, y) {
  return layout.rows.find((row) => y >= row.y && y < row.y + row.height);
}

// The top of an event's box, or undefined where its node is folded away.
function eventTop(model, layout, event) {
  const row = layout.byTrack.get(model.track[event]);
  return row && row.y + 2 + model.lane[event] * LANE_HEIGHT;
}

// The event of a lane nearest to x, if one is at most `slack` pixels from it.
function eventAt(model, lane, view, x, slack) {
  const from = view.ns(x - slack);
  const to = view.ns(x + slack);
  let best = -1;
  let distance = Infinity;
  const at = view.ns(x);
  const first = firstAtLeast(lane.latest, from);
  for (let i = first; i < lane.events.length && i < first + 2000; ++i) {
    const event = lane.events[i];
    if (model.start[event] > to) break;
    if (model.end[event] < from) continue;
    const away = Math.max(0, model.start[event] - at, at - model.end[event]);
    if (away <= distance) {
      distance = away;
      best = event;
    }
  }
  return best;
}

// How many events have their start in the view.
function eventsInView(model, view) {
  return firstAtLeast(model.start, view.to) - firstAtLeast(model.start, view.from);
}
