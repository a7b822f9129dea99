// The inside of a Markdown paragraph: code, bold, italics, struck text; links as text with their address.
import { make } from "../kit/dom.js";

const MARKS = [
  ["**", "strong"],
  ["__", "strong"],
  ["~~", "s"],
  ["*", "em"],
  ["_", "em"],
];
const LINK =
  /^!?\[([^\]\n]{0,500})\]\(<?([^()\s>]{0,1000}(?:\([^()\s]{0,200}\)[^()\s>]{0,500})?)>?(?:\s+"[^"\n]{0,200}")?\)/;

/** Render inline Markdown to a list of nodes and strings. */
export function inline(text, depth = 0) {
  const out = [];
  let plain = "";
  const flush = () => plain && (out.push(...breaks(plain)), (plain = ""));
  const noEnd = new Set(); // marks known to have no end in the rest, so that no search is made twice
  for (let at = 0; at < text.length;) {
    const found = "`*_~![\\".includes(text[at]) && depth < 6 ? special(text, at, depth, noEnd) : null;
    if (!found) {
      plain += text[at++];
      continue;
    }
    if (typeof found.node === "string") plain += found.node;
    else {
      flush();
      out.push(found.node);
    }
    at = found.end;
  }
  flush();
  return out;
}

/** A line break in the source stays one. */
function breaks(text) {
  return text
    .split("\n")
    .flatMap((line, i) => (i ? [make("br"), line] : [line]))
    .filter((piece) => piece !== "");
}

function special(text, at, depth, noEnd) {
  if (text[at] === "\\")
    return /[\\`*_{}[\]()#+\-.!|~>]/.test(text[at + 1] || "") ? { node: text[at + 1], end: at + 2 } : null;
  if (text[at] === "`") return codeSpan(text, at, noEnd);
  if (text[at] === "[" || text[at] === "!") return linkSpan(text, at, depth);
  for (const [mark, tag] of MARKS) {
    if (text.startsWith(mark, at)) return emphasis(text, at, mark, tag, depth, noEnd);
  }
  return null;
}

function codeSpan(text, at, noEnd) {
  const ticks = text.slice(at).match(/^`{1,20}/)[0];
  const end = noEnd.has(ticks) ? -1 : text.indexOf(ticks, at + ticks.length);
  if (end < 0) {
    noEnd.add(ticks);
    return { node: ticks, end: at + ticks.length };
  }
  return { node: make("code", {}, text.slice(at + ticks.length, end)), end: end + ticks.length };
}

/** A link or image: its words and where it leads, neither of which acts. */
function linkSpan(text, at, depth) {
  const match = text.slice(at, at + 2500).match(LINK);
  if (!match) return null;
  const image = text[at] === "!";
  const words = image ? [`image: ${match[1] || "no description"}`] : inline(match[1], depth + 1);
  return {
    node: make(
      "span",
      { class: "link" },
      words,
      match[2] && match[2] !== match[1] ? make("span", { class: "address", dir: "ltr" }, ` (${match[2]})`) : null,
    ),
    end: at + match[0].length,
  };
}

function emphasis(text, at, mark, tag, depth, noEnd) {
  const start = at + mark.length;
  const inWord = mark[0] === "_" && /[\p{L}\p{N}]/u.test(text[at - 1] || "");
  if (inWord || noEnd.has(mark) || /\s/.test(text[start] || " ")) return { node: mark, end: start };
  for (let end = text.indexOf(mark, start + 1); end >= 0; end = text.indexOf(mark, end + 1)) {
    if (/\s/.test(text[end - 1])) continue;
    if (mark.length === 1 && (text[end + 1] === mark || text[end - 1] === mark)) {
      end++;
      continue;
    }
    if (mark[0] === "_" && /[\p{L}\p{N}]/u.test(text[end + mark.length] || "")) continue;
    return { node: make(tag, {}, inline(text.slice(start, end), depth + 1)), end: end + mark.length };
  }
  noEnd.add(mark);
  return { node: mark, end: start };
}
