// Building blocks: elements, numbers as people read them, clipboard and downloads. Data enters the document as text nodes only.

const $ = (id) => document.getElementById(id);

/** Make an element; properties that start with "on" are listeners, strings among the children become text nodes. */
function el(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** Make an SVG element. */
function svg(tag, props, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);
}

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child !== undefined && child !== null && child !== false) node.append(child);
  }
  return node;
}

/** Put these children, and no others, into a node. */
function put(node, ...children) {
  node.replaceChildren(
    ...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false),
  );
}

const number = new Intl.NumberFormat("en-US");
const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });

/** 1234567 as 1,234,567. */
const count = (n) => number.format(n);

/** A count with its noun: 1 row, 2 rows. */
const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : many || one + "s"}`;

/** Seconds as people say them. */
function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Bytes as people say them. */
function bytes(n) {
  const power = n < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(n) / 3));
  return `${(n / 1000 ** power).toFixed(power && n / 1000 ** power < 10 ? 1 : 0)} ${["bytes", "kB", "MB", "GB", "TB"][power]}`;
}

/** The first `limit` characters in one line, for lists. */
function oneLine(text, limit = 240) {
  return text
    .slice(0, limit * 2)
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, limit);
}

/** Say something to people who see and people who listen. */
let toastTimer = 0;
function say(message) {
  $("toast").textContent = message;
  $("toast").classList.add("shown");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => $("toast").classList.remove("shown"), 2600);
}

/** Copy text; works from disk, where the clipboard interface may be missing. */
async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el("textarea", { class: "offscreen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say(`${what} copied`);
}

const copyButton = (label, what, text) =>
  el(
    "button",
    { type: "button", class: "small", onclick: () => copy(typeof text === "function" ? text() : text, what) },
    label,
  );

/** Save parts (strings or bytes) as a file. */
function download(name, type, parts) {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = el("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
  say(`${name} saved`);
}

/** Let the browser draw and answer keys, then go on. */
const breathe = () => new Promise((resolve) => setTimeout(resolve, 0));

/** Mark the words searched for below `root`, up to a bound that keeps long answers quick. */
function markHits(root, words) {
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
      pieces.push(text.slice(end, hit.index), el("mark", {}, hit[0]));
      end = hit.index + hit[0].length;
    }
    if (pieces.length) node.replaceWith(...pieces, text.slice(end));
  }
}
