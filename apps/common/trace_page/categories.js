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

// What went wrong: a request was refused, or completed with an error. "" if nothing did.
function troubleOf(event) {
  const {status, result} = event.args;
  if (event.cat === 'completion' && status !== undefined && status !== 'ok') return String(status);
  const refused = event.cat === 'post' && result !== undefined && result !== 'accepted';
  return refused && result !== 'Again' ? String(result) : '';
}

// What did not go smoothly, and what the device or a retry makes good: a packet that was lost, sent
// again or came twice; a queue that was full.
function hiccupOf(event) {
  const {fate, result} = event.args;
  if (event.cat === 'packet' && fate !== undefined && fate !== 'arrives') return String(fate);
  return event.cat === 'post' && result === 'Again' ? 'the queue is full' : '';
}
