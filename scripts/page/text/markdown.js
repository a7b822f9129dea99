// Markdown as nodes: headings, lists, quotes, tables, code and rules. Written for answers nobody vetted: no HTML is ever
// interpreted, links and images are text, and the work grows with the length of the text and nothing else.
import { inline } from "./inline.js";
import { make } from "../kit/dom.js";
import { copyButton } from "../views/toast.js";

const MAX_NESTING = 8;

/** Render Markdown text to a fragment. */
export function markdown(text, depth = 0) {
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  const out = document.createDocumentFragment();
  for (let at = 0; at < lines.length;) at = nextBlock(lines, at, out, depth);
  return out;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^ {0,3}([-*_])(?: *\1){2,} *$/;
const ITEM = /^( {0,8}|\t{0,3})([-*+]|\d{1,9}[.)])(?:\s+|$)/;
const DIVIDER = /^[\s|:-]*-[\s|:-]*$/;

/** Render the block that begins at line `at`; return the line after it. */
function nextBlock(lines, at, out, depth) {
  const line = lines[at].length > 4000 ? lines[at].slice(0, 4000) : lines[at];
  if (!line.trim()) return at + 1;
  const fence = line.match(FENCE);
  if (fence) return codeBlock(lines, at, out, fence);
  const heading = line.match(HEADING);
  if (heading) {
    out.append(make(`h${Math.min(6, heading[1].length + 2)}`, { dir: "auto" }, inline(heading[2])));
    return at + 1;
  }
  if (RULE.test(line)) {
    out.append(make("hr"));
    return at + 1;
  }
  if (/^ {0,3}>/.test(line) && depth < MAX_NESTING) return quoteBlock(lines, at, out, depth);
  if (ITEM.test(line) && depth < MAX_NESTING) return listBlock(lines, at, out, depth);
  if (
    line.includes("|") &&
    at + 1 < lines.length &&
    lines[at + 1].includes("-") &&
    DIVIDER.test(lines[at + 1].slice(0, 4000)) &&
    lines[at + 1].includes("|")
  ) {
    return tableBlock(lines, at, out);
  }
  return paragraph(lines, at, out);
}

function codeBlock(lines, at, out, fence) {
  const close = new RegExp(`^ {0,3}${fence[1][0]}{${fence[1].length},}\\s*$`);
  const body = [];
  let end = at + 1;
  while (end < lines.length && !close.test(lines[end])) body.push(lines[end++]);
  out.append(codeBox(body.join("\n"), fence[2]));
  return end + 1;
}

/** Code with its language and a copy button. */
function codeBox(text, language) {
  return make(
    "figure",
    { class: "code" },
    make("figcaption", {}, make("span", {}, language || "code"), copyButton("Copy", "Code", text)),
    make("pre", { dir: "ltr", tabindex: "0" }, make("code", {}, text)),
  );
}

function quoteBlock(lines, at, out, depth) {
  const body = [];
  while (at < lines.length && /^ {0,3}>/.test(lines[at])) body.push(lines[at++].replace(/^ {0,3}> ?/, ""));
  out.append(make("blockquote", { dir: "auto" }, markdown(body.join("\n"), depth + 1)));
  return at;
}

const indentOf = (line) => line.replace(/\t/g, "    ").match(/^ */)[0].length;

/** A list; lines indented deeper than its marker belong to the item. */
function listBlock(lines, at, out, depth) {
  const first = lines[at].match(ITEM);
  const ordered = /\d/.test(first[2]);
  const base = indentOf(lines[at]);
  const node = make(ordered ? "ol" : "ul", {
    dir: "auto",
    start: ordered && parseInt(first[2], 10) !== 1 ? parseInt(first[2], 10) : null,
  });
  while (at < lines.length) {
    const marker = lines[at].match(ITEM);
    if (
      !marker ||
      indentOf(lines[at]) < base ||
      indentOf(lines[at]) > base + 3 ||
      /\d/.test(marker[2]) !== ordered ||
      RULE.test(lines[at])
    )
      break;
    const body = [lines[at++].slice(marker[0].length)];
    while (at < lines.length && belongs(lines, at, base)) body.push(lines[at++]);
    node.append(listItem(body, depth));
  }
  out.append(node);
  return at;
}

/** Whether a line continues the item: deeper than its marker, or text right after it. */
function belongs(lines, at, base) {
  const line = lines[at];
  if (!line.trim()) return at + 1 < lines.length && lines[at + 1].trim() !== "" && indentOf(lines[at + 1]) > base + 1;
  if (indentOf(line) > base + 1) return true;
  return (
    !ITEM.test(line) && !HEADING.test(line) && !FENCE.test(line) && !RULE.test(line) && lines[at - 1].trim() !== ""
  );
}

function listItem(body, depth) {
  const rest = body.slice(1).filter((line) => line.trim());
  const cut = rest.length ? Math.min(...rest.map(indentOf)) : 0;
  const inner = [body[0], ...body.slice(1).map((line) => line.replace(/\t/g, "    ").slice(cut))];
  const box = body[0].match(/^\[([ xX])\]\s+/);
  if (box) inner[0] = `${box[1] === " " ? "☐" : "☑"} ${body[0].slice(box[0].length)}`;
  const content = markdown(inner.join("\n"), depth + 1);
  const only = content.childNodes.length && content.firstChild.nodeName === "P" ? content.firstChild : null;
  if (only) only.replaceWith(...only.childNodes);
  return make("li", {}, content);
}

const cells = (line) =>
  line
    .trim()
    .replace(/^\||\|$/g, "")
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replace(/\\\|/g, "|"));

function tableBlock(lines, at, out) {
  const sides = cells(lines[at + 1]).map((cell) =>
    /^:.*:$/.test(cell) ? "center" : cell.endsWith(":") ? "end" : "start",
  );
  const row = (line, tag) =>
    make(
      "tr",
      {},
      cells(line)
        .slice(0, 60)
        .map((cell, i) =>
          make(tag, { class: sides[i] || "start", dir: "auto", scope: tag === "th" ? "col" : null }, inline(cell)),
        ),
    );
  const head = row(lines[at], "th");
  const body = make("tbody");
  at += 2;
  while (at < lines.length && lines[at].includes("|") && lines[at].trim()) body.append(row(lines[at++], "td"));
  out.append(
    make(
      "div",
      { class: "table", tabindex: "0", role: "group", "aria-label": "Table" },
      make("table", {}, make("thead", {}, head), body),
    ),
  );
  return at;
}

function paragraph(lines, at, out) {
  const body = [];
  do body.push(lines[at++]);
  while (
    at < lines.length &&
    lines[at].trim() &&
    !FENCE.test(lines[at]) &&
    !HEADING.test(lines[at]) &&
    !/^ {0,3}>/.test(lines[at]) &&
    !ITEM.test(lines[at]) &&
    !RULE.test(lines[at])
  );
  out.append(make("p", { dir: "auto" }, inline(body.join("\n"))));
  return at;
}
