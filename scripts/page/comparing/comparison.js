// Two runs side by side: rows pair by line or by id, differences are marked, and a summary says how the runs differ.

export class Comparison {
  /** `left` is this page's store, `right` the dropped one; `held` says how many of its rows this page holds. */
  constructor(left, right, name, held) {
    Object.assign(this, { left, right, name, held, votes: new Map() });
    this.pair(this.looksPaired());
  }

  /** Ids where every row of both has one and they meet, else lines. */
  looksPaired() {
    const ids = new Set(this.right.ids.filter(Boolean));
    const met = this.left.ids.filter((id) => id && ids.has(id)).length;
    return met && ids.size === this.right.size && met >= Math.min(this.left.size, this.right.size) / 2 ? "id" : "line";
  }

  pair(by) {
    this.by = by;
    const [left, right] = by === "id" ? [this.left.ids, this.right.ids] : this.lineKeys();
    const places = new Map();
    for (let at = 0; at < this.right.size; at++) if (!places.has(right[at])) places.set(right[at], at);
    this.pairs = Int32Array.from({ length: this.left.size }, (_, at) =>
      left[at] === "" ? -1 : (places.get(left[at]) ?? -1),
    );
  }

  /** Lines of the input on both sides; an output.jsonl does not tell them, so its lines pair with the rows in their order. */
  lineKeys() {
    const whole = this.held.held === this.held.rows || this.left.counted;
    if (!this.right.counted || this.left.counted || !whole) return [this.left.line, this.right.line];
    const ranks = new Float64Array(this.left.size);
    const order = Uint32Array.from(ranks, (_, at) => at).sort((a, b) => this.left.line[a] - this.left.line[b]);
    order.forEach((at, rank) => (ranks[at] = rank + 1));
    return [ranks, this.right.line];
  }

  /** Whether the two answers of a row differ; a row that the other run lacks does. */
  differs(at) {
    const other = this.pairs[at];
    return (
      other < 0 ||
      this.left.sum[at] !== this.right.sum[other] ||
      this.left.name("status", at) !== this.right.name("status", other)
    );
  }

  /** Figures over all pairs. */
  figures() {
    const sums = { paired: 0, differ: 0, left: [0, 0, 0], right: [0, 0, 0] };
    const add = (side, store, at) => {
      if (store.tokensOut[at] >= 0) ((side[0] += store.tokensOut[at]), side[1]++);
      if (store.name("status", at) !== "succeeded") side[2]++;
    };
    for (let at = 0; at < this.left.size; at++) {
      if (this.pairs[at] < 0) continue;
      sums.paired++;
      if (this.differs(at)) sums.differ++;
      add(sums.left, this.left, at);
      add(sums.right, this.right, this.pairs[at]);
    }
    return sums;
  }
}
