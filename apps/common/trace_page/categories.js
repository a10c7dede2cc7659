// What an event can be, in the order in which an operation goes through them, and what the legend
// says of it.

const CATEGORIES = [
  {name: 'post', says: 'the program hands an operation (write, read, send, receive) to the NIC'},
  {name: 'doorbell', says: 'the NIC is told that operations wait in its queue'},
  {name: 'packet', says: 'bytes travel from one NIC to another'},
  {name: 'place', says: 'the target\'s NIC puts bytes into registered memory'},
  {name: 'completion', says: 'the NIC reports the end of an operation in a completion queue'},
  {name: 'poll', says: 'the program reads completions'},
  {name: 'resume', says: 'the coroutine that waited for the operation goes on'},
  {name: 'object', says: 'a memory region, endpoint, queue or peer is opened or closed'},
  {name: 'fault', says: 'trouble that a fault plan made on purpose'},
  {name: 'check', says: 'a rule of the device was broken, or the simulator warns'},
  {name: 'other', says: 'an event of another kind'},
];

const CATEGORY = Object.fromEntries(CATEGORIES.map((category, index) => [category.name, index]));

function categoryOf(event) {
  const index = CATEGORY[event.cat];
  return Number.isInteger(index) ? index : CATEGORY.other;
}

// Posted and refused, or completed with an error, or a packet that did not simply arrive.
function troubleOf(event) {
  const args = event.args;
  if (event.cat === 'completion' && args.status !== undefined && args.status !== 'ok')
    return String(args.status);
  if (event.cat === 'post' && args.result !== undefined && args.result !== 'accepted')
    return String(args.result);
  if (event.cat === 'packet' && args.fate !== undefined && args.fate !== 'arrives')
    return String(args.fate);
  return '';
}
