// A name that stands twice in one object, with two values: readers of JSON take one or the other.
import { items, members, skipSpace } from "../../../scripts/page/kit/jsontext.js";

const LOOKED_THROUGH = 2_000_000; // characters looked through

/** Find such a name in text that JSON.parse accepts: its JSON text, or null. */
export function doubledName(text) {
  const left = text.length > LOOKED_THROUGH ? [] : [skipSpace(text, 0)];
  while (left.length) {
    const at = left.pop();
    const inner = text[at] === "{" ? members(text, at) : items(text, at);
    for (const { start } of inner) if (text[start] === "{" || text[start] === "[") left.push(start);
    if (text[at] !== "{") continue;
    const seen = new Map();
    for (const child of inner) {
      const value = () => JSON.stringify(JSON.parse(text.slice(child.start, child.end)));
      if (seen.has(child.key) && seen.get(child.key)() !== value()) return JSON.stringify(child.key);
      seen.set(child.key, value);
    }
  }
  return null;
}
