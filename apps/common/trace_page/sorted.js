// Binary searches. `list` holds indexes into `values`, in an order in which the values do not fall.

function lowerBound(list, values, limit) {  // the first place whose value is >= limit
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[list[middle]] < limit)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// The same in an array of values that do not fall.
function firstAtLeast(values, limit, from = 0) {
  let low = from;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < limit)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// For slices in the order of their starts: the latest end up to each of them. It does not fall, so
// that the first slice which reaches into a view is found by a binary search, however the slices
// overlap.
function latestEnds(list, ends) {
  const latest = new Float64Array(list.length);
  let end = -Infinity;
  for (let i = 0; i < list.length; ++i) {
    end = Math.max(end, ends[list[i]]);
    latest[i] = end;
  }
  return latest;
}
