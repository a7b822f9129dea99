// Words that were searched for, marked where they stand.
import { make } from "../kit/dom.js";

/** Mark the words searched for below `root`, up to a bound that keeps long answers quick. */
export function markHits(root, words) {
  if (!words.length) return;
  const pattern = new RegExp(words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"), "giu");
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode() && nodes.length < 5000) nodes.push(walker.currentNode);
  let left = 500;
  for (const node of nodes) {
    const text = node.data;
    let end = 0;
    const pieces = [];
    for (const hit of text.matchAll(pattern)) {
      if (left-- <= 0) break;
      pieces.push(text.slice(end, hit.index), make("mark", {}, hit[0]));
      end = hit.index + hit[0].length;
    }
    if (pieces.length) node.replaceWith(...pieces, text.slice(end));
  }
}
