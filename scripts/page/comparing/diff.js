// The difference of two texts word by word, as pieces {kind: "same" | "left" | "right", text}.
import { make } from "../kit/dom.js";

const DIFF_EDITS = 600; // beyond so many edits the middles count as wholly different
const WORDS = /\s+|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[\p{L}\p{N}_]+|[^]/gu;

/** Compare two texts. */
export function diffTexts(left, right) {
  const a = left.slice(0, 60000).match(WORDS) || [];
  const b = right.slice(0, 60000).match(WORDS) || [];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const middle = shortestEdit(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  return merged([...a.slice(0, head).map(same), ...middle, ...a.slice(a.length - tail).map(same)]);
}

const same = (text) => ({ kind: "same", text });

/** Myers' greedy search: for each number of edits, how far each diagonal reaches. */
function shortestEdit(a, b) {
  const rest = () => [...a.map((text) => ({ kind: "left", text })), ...b.map((text) => ({ kind: "right", text }))];
  if (!a.length || !b.length) return rest();
  const limit = Math.min(a.length + b.length, DIFF_EDITS);
  const trace = [];
  let reach = new Map([[1, 0]]);
  for (let edits = 0; edits <= limit; edits++) {
    trace.push(new Map(reach));
    for (let k = -edits; k <= edits; k += 2) {
      let x =
        k === -edits || (k !== edits && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1))
          ? (reach.get(k + 1) ?? 0)
          : (reach.get(k - 1) ?? 0) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      reach.set(k, x);
      if (x >= a.length && x - k >= b.length) return walkBack(a, b, trace, edits);
    }
  }
  return rest();
}

function walkBack(a, b, trace, edits) {
  const pieces = [];
  let [x, y] = [a.length, b.length];
  for (let d = edits; d > 0; d--) {
    const reach = trace[d];
    const k = x - y;
    const down = k === -d || (k !== d && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));
    const before = down ? k + 1 : k - 1;
    const [px, py] = [reach.get(before) ?? 0, (reach.get(before) ?? 0) - before];
    while (x > px && y > py) {
      pieces.push(same(a[--x]));
      y--;
    }
    if (down) pieces.push({ kind: "right", text: b[--y] });
    else pieces.push({ kind: "left", text: a[--x] });
  }
  while (x > 0) pieces.push(same(a[--x]));
  return pieces.reverse();
}

function merged(pieces) {
  const out = [];
  for (const piece of pieces) {
    const last = out[out.length - 1];
    if (last && last.kind === piece.kind) last.text += piece.text;
    else out.push({ ...piece });
  }
  return out;
}

/** One side of a difference as a node: what the other side lacks is marked. */
export function diffSide(pieces, side) {
  return make(
    "div",
    { class: "text plain", dir: "auto" },
    pieces
      .filter((piece) => piece.kind === "same" || piece.kind === side)
      .map((piece) => (piece.kind === "same" ? piece.text : make(side === "left" ? "del" : "ins", {}, piece.text))),
  );
}
