// JSON as text: finds where each value of a row stands and changes one value without touching a byte of the rest.
// Every function expects text that JSON.parse accepts, unless it says otherwise. No recursion: nesting may be deep.

const SPACE = /[ \t\r\n]/;

/** Return the offset of the first character at or after `at` that is not JSON white space. */
export function skipSpace(text, at) {
  while (at < text.length && SPACE.test(text[at])) at += 1;
  return at;
}

function stringEnd(text, at) {
  for (let i = at + 1; i < text.length; i += 1) {
    if (text[i] === "\\") i += 1;
    else if (text[i] === '"') return i + 1;
  }
  return text.length;
}

/** Return the offset just after the value that begins at `at`. Works on broken text too: the end is then a best guess. */
export function valueEnd(text, at) {
  let depth = 0;
  for (let i = at; i < text.length;) {
    const c = text[i];
    if (c === '"') i = stringEnd(text, i);
    else if (c === "{" || c === "[") {
      depth += 1;
      i += 1;
    } else if (c === "}" || c === "]") {
      depth -= 1;
      i += 1;
    } else if (depth > 0) {
      i += 1;
      continue;
    } else return scalarEnd(text, i);
    if (depth <= 0) return i;
  }
  return text.length;
}

function scalarEnd(text, at) {
  let i = at;
  while (i < text.length && !/[,\]}\s]/.test(text[i])) i += 1;
  return Math.max(i, at + 1);
}

/** Tell whether brackets in `text` nest more than `limit` levels. */
export function deeperThan(text, limit) {
  let depth = 0;
  for (let i = 0; i < text.length; i += 1) {
    const c = text[i];
    if (c === '"') i = stringEnd(text, i) - 1;
    else if (c === "{" || c === "[") depth += 1;
    else if (c === "}" || c === "]") depth -= 1;
    if (depth > limit) return true;
  }
  return false;
}

/** Tell whether `text` holds a whole number of more digits than Python reads. */
export function longWholeNumber(text, limit = 4300) {
  if (!new RegExp(`\\d{${limit + 1}}`).test(text)) return false;
  for (let i = 0; i < text.length; i += 1) {
    if (text[i] === '"') {
      i = stringEnd(text, i) - 1;
      continue;
    }
    if (!/[-\d]/.test(text[i])) continue;
    const end = scalarEnd(text, i);
    const raw = text.slice(i, end);
    if (/^-?\d+$/.test(raw) && raw.replace("-", "").length > limit) return true;
    i = end - 1;
  }
  return false;
}

/** List the members of the object at `at`: key, keyStart, and start and end of the value. */
export function members(text, at) {
  const found = [];
  let i = skipSpace(text, at + 1);
  while (i < text.length && text[i] === '"') {
    const keyEnd = stringEnd(text, i);
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = valueEnd(text, start);
    found.push({ key: JSON.parse(text.slice(i, keyEnd)), keyStart: i, keyEnd, start, end });
    i = skipSpace(text, end);
    if (text[i] !== ",") break;
    i = skipSpace(text, i + 1);
  }
  return found;
}

/** List the items of the array at `at`: start and end of each value. */
export function items(text, at) {
  const found = [];
  let i = skipSpace(text, at + 1);
  while (i < text.length && text[i] !== "]") {
    const end = valueEnd(text, i);
    found.push({ keyStart: i, start: i, end });
    i = skipSpace(text, end);
    if (text[i] !== ",") break;
    i = skipSpace(text, i + 1);
  }
  return found;
}

function children(text, start) {
  if (text[start] === "{") return members(text, start);
  return text[start] === "[" ? items(text, start) : [];
}

function pick(list, step) {
  if (typeof step === "number") return list[step];
  return list.findLast((child) => child.key === step); // JSON.parse keeps the last of two equal keys
}

/** Find the span of the value at `path` (keys and indices), or null. */
export function find(text, path) {
  const start = skipSpace(text, 0);
  let span = { keyStart: start, start, end: valueEnd(text, start) };
  for (const step of path) {
    const child = pick(children(text, span.start), step);
    if (!child) return null;
    span = child;
  }
  return span;
}

/** Return the text of the value at `path`, or undefined. */
export function rawAt(text, path) {
  const span = find(text, path);
  return span ? text.slice(span.start, span.end) : undefined;
}

function usesSpaces(text) {
  const first = members(text, skipSpace(text, 0))[0];
  return !first || first.start - first.keyEnd !== 1;
}

/** Insert `raw` into the array or object at `path`, before its child number `index` (its end when omitted). */
export function insert(text, path, raw, { index, key } = {}) {
  const owner = find(text, path);
  const list = children(text, owner.start);
  const spaced = usesSpaces(text);
  const comma = spaced ? ", " : ",";
  const piece = key === undefined ? raw : JSON.stringify(key) + (spaced ? ": " : ":") + raw;
  if (list.length === 0) return text.slice(0, owner.start + 1) + piece + text.slice(owner.end - 1);
  if (index === undefined || index >= list.length) {
    const end = list[list.length - 1].end;
    return text.slice(0, end) + comma + piece + text.slice(end);
  }
  const at = list[index].keyStart;
  return text.slice(0, at) + piece + comma + text.slice(at);
}

/** Put `raw` at `path`; objects on the way that are missing are made. */
export function setRaw(text, path, raw) {
  const span = find(text, path);
  if (span) return text.slice(0, span.start) + raw + text.slice(span.end);
  const parent = path.slice(0, -1);
  const owner = find(text, parent);
  const base = owner && "{[".includes(text[owner.start]) ? text : setRaw(text, parent, "{}");
  const last = path[path.length - 1];
  return insert(base, parent, raw, typeof last === "string" ? { key: last } : {});
}

function removeOne(text, list, at) {
  if (list.length === 1) return text.slice(0, list[0].keyStart) + text.slice(list[0].end);
  if (at < list.length - 1) return text.slice(0, list[at].keyStart) + text.slice(list[at + 1].keyStart);
  return text.slice(0, list[at - 1].end) + text.slice(list[at].end);
}

/** Take the value at `path` out, with every duplicate of its key. */
export function remove(text, path) {
  const step = path[path.length - 1];
  for (let result = text; ;) {
    const owner = find(result, path.slice(0, -1));
    const list = owner ? children(result, owner.start) : [];
    const at =
      typeof step === "number" ? (step < list.length ? step : -1) : list.findIndex((child) => child.key === step);
    if (at < 0) return result;
    result = removeOne(result, list, at);
    if (typeof step === "number") return result;
  }
}

/** Give the member at `path` another name, in its place. */
export function rename(text, path, name) {
  const span = find(text, path);
  return text.slice(0, span.keyStart) + JSON.stringify(name) + text.slice(span.keyEnd);
}

/** Swap two items of the array at `path`. */
export function swap(text, path, one, other) {
  const list = items(text, find(text, path).start);
  const [a, b] = [list[Math.min(one, other)], list[Math.max(one, other)]];
  const [rawA, rawB] = [text.slice(a.start, a.end), text.slice(b.start, b.end)];
  return text.slice(0, a.start) + rawB + text.slice(a.end, b.start) + rawA + text.slice(b.end);
}

/** Write a value that spans lines on one line: line breaks outside strings go, everything else stays as it is. */
export function onOneLine(text) {
  if (!/[\r\n]/.test(text)) return text;
  let out = "";
  for (let i = 0; i < text.length;) {
    const end = text[i] === '"' ? stringEnd(text, i) : i + 1;
    if (!SPACE.test(text[i])) {
      out += text.slice(i, end);
      i = end;
      continue;
    }
    const stop = skipSpace(text, i);
    const gap = text.slice(i, stop);
    if (/[\r\n]/.test(gap)) out += out.endsWith(",") ? " " : "";
    else out += gap;
    i = stop;
  }
  return out;
}
