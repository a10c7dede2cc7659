// What led to what, within one operation: the arrows. A packet's cause is the post, or the packet
// before it, or, sent again, its own first try; a placement's is the packet that held its bytes; of
// everything else, the last event of an earlier stage.

// Pairs [cause, event] of an operation's events.
function arrowsOf(model, operation) {
  const arrows = [];
  const causes = new Causes(model, operation.events);
  for (const event of operation.events) {
    const cause = causes.of(event);
    if (cause >= 0) arrows.push([cause, event]);
    causes.see(event);
  }
  return arrows;
}

class Causes {
  constructor(model, events) {
    this.model = model;
    this.latest = new Array(CATEGORIES.length).fill(-1);
    this.tries = new Map();    // packet's number -> the latest event of it
    this.arrived = new Map();  // the same, of those that were not lost
    this.lastArrived = -1;
    // The request of a read is a packet without any of its bytes.
    const bytesOfPacket = (event) =>
        model.category[event] === CATEGORY.packet ? Number(model.raw[event].args.bytes) || 0 : 0;
    this.packetBytes = events.map(bytesOfPacket).find((bytes) => bytes > 0) || 0;
    this.begin = Infinity;  // of the placed range
    for (const event of events) {
      if (model.category[event] === CATEGORY.place) {
        this.begin = Math.min(this.begin, rangeOf(model, event).offset);
      }
    }
  }

  of(event) {
    const category = this.model.category[event];
    if (category === CATEGORY.packet) {
      const same = this.tries.get(this.model.raw[event].args.packet);
      if (same !== undefined) return same;
      if (this.latest[category] >= 0) return this.latest[category];
    }
    if (category === CATEGORY.place && this.lastArrived >= 0) return this.packetOf(event);
    return Math.max(...this.latest.slice(0, Math.min(category, CATEGORY.resume)), -1);
  }

  // Packets carry the operation's bytes one after the other.
  packetOf(place) {
    const at = rangeOf(this.model, place).offset - this.begin;
    const number = this.packetBytes > 0 ? Math.floor(at / this.packetBytes) : -1;
    const packet = this.arrived.get(number);
    return packet === undefined ? this.lastArrived : packet;
  }

  see(event) {
    const category = this.model.category[event];
    this.latest[category] = event;
    if (category !== CATEGORY.packet) return;
    const {packet, fate} = this.model.raw[event].args;
    this.tries.set(packet, event);
    if (fate === 'lost') return;
    this.arrived.set(packet, event);
    this.lastArrived = event;
  }
}
