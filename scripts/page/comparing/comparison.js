// Two runs side by side: rows pair by line or by id, and each is told as the same, as a row whose answer differs, as a row
// that was changed itself, or as one that a single side has.

/** What the list may be narrowed to, as the chip says it. */
export const COMPARED = { differs: "Differences only", changed: "Changed rows only", here: "Rows only here" };

export class Comparison {
  /** `left` is this page's store, `right` the dropped one; `held` says how many of its rows this page holds. */
  constructor(left, right, name, held) {
    Object.assign(this, { left, right, name, held, votes: new Map(), saved: true });
    this.pair(this.looksPaired());
  }

  vote(at, value) {
    this.votes.set(at, value);
    this.saved = false;
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

  /** How a row differs: "here" where the other run lacks it, "changed" where it was itself, "differs" where its answer does, "". */
  kind(at) {
    const { left, right } = this;
    const other = this.pairs[at];
    if (other < 0) return "here";
    const [own, others] = [left.own[at], right.own[other]];
    if (own !== others && own === own && others === others) return "changed"; // NaN: this side does not tell what was asked
    const same = left.sum[at] === right.sum[other] && left.name("status", at) === right.name("status", other);
    return same ? "" : "differs";
  }

  /** Whether a row passes what the list is narrowed to. */
  passes(at, narrowed) {
    const kind = this.kind(at);
    return narrowed === "differs" ? kind !== "" : kind === narrowed;
  }

  /** The rows of the other run that this one lacks. */
  lacking() {
    const paired = new Set(this.pairs);
    return Array.from({ length: this.right.size }, (_, at) => at).filter((at) => !paired.has(at));
  }

  /** Figures over all pairs. */
  figures() {
    const sums = { paired: 0, differ: 0, changed: 0, left: [0, 0, 0], right: [0, 0, 0] };
    const add = (side, store, at) => {
      if (store.tokensOut[at] >= 0) ((side[0] += store.tokensOut[at]), side[1]++);
      if (store.name("status", at) !== "succeeded") side[2]++;
    };
    for (let at = 0; at < this.left.size; at++) {
      if (this.pairs[at] < 0) continue;
      sums.paired++;
      const kind = this.kind(at);
      if (kind === "differs") sums.differ++;
      if (kind === "changed") sums.changed++;
      add(sums.left, this.left, at);
      add(sums.right, this.right, this.pairs[at]);
    }
    return sums;
  }
}
