// A template over columns, written as the job reads it: Jinja, of which the preview knows `{{ field }}` and `{{ field.inner }}`.
import { deeperThan, find, items, members, rawAt } from "../../../scripts/page/kit/jsontext.js";

const PLACE = /\{\{-?\s*([\s\S]*?)\s*-?\}\}/g;
const SIMPLE = /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d+\]|\["[^"\\]*"\]|\['[^'\\]*'\])*$/;
const DEEPEST = 900; // levels of nesting
const NAME = /^[A-Za-z_]\w*$/;
const KEYWORDS = /^(?:true|false|none|True|False|None|not|and|or|if|else|is|in)$/;
const isSimple = (expression) => SIMPLE.test(expression) && !KEYWORDS.test(expression);

/** Tell what the preview can make of a template: its fields, and a complaint when it is beyond the preview. */
export function inspectTemplate(template) {
  const expressions = [...template.matchAll(PLACE)].map((match) => match[1]);
  const outside = template.replace(PLACE, "");
  const fields = [...new Set(expressions.filter(isSimple).map((e) => pathOf(e)[0]))];
  const odd = expressions.find((expression) => !isSimple(expression));
  if (/\{\{|\}\}/.test(outside)) return { fields, fault: "A “{{” has no “}}”, or the other way round.", beyond: false };
  if (odd === "") return { fields, fault: "“{{ }}” names no field.", beyond: false };
  const control = /\{[%#]|\{\{-|-\}\}/.exec(template)?.[0] ?? odd;
  return {
    fields,
    fault: null,
    beyond: control ? `“${control}” is Jinja beyond plain fields: the job runs it, this preview does not.` : null,
  };
}

/** Write a column's name the way a template must. */
export function placeholder(name) {
  if (NAME.test(name) && !KEYWORDS.test(name)) return `{{${name}}}`;
  const quote = ['"', "'"].find((mark) => !name.includes(mark));
  return quote && !/[\\\n\r]/.test(name) ? `{{row[${quote}${name}${quote}]}}` : null;
}

function pathOf(expression) {
  return [...expression.matchAll(/[A-Za-z_]\w*|\[(\d+)\]|\["([^"]*)"\]|\['([^']*)'\]/g)].map(
    ([whole, index, one, other]) => (index !== undefined ? Number(index) : (one ?? other ?? whole)),
  );
}

/** Fill the template from a row's JSON text: {text, missing}. `missing` is the first field the row lacks, or null. */
export function fillTemplate(template, raw) {
  let missing = null;
  const source = template.endsWith("\n") ? template.slice(0, -1) : template;
  const text = source.replace(PLACE, (whole, expression) => {
    const value = rawAt(raw, rooted(pathOf(expression), raw));
    if (value === undefined) missing ??= expression;
    return value === undefined ? whole : deeperThan(value, DEEPEST) ? "…" : value === "null" ? "" : asPython(value);
  });
  return { text, missing };
}

/** `row` is the whole row; where the row has a column of that name, `row` alone and what only it has are the column's. */
function rooted(path, raw) {
  if (path[0] !== "row") return path;
  const column = find(raw, ["row"]) !== null;
  if (path.length === 1) return column ? path : [];
  return column && find(raw, [path[1]]) === null ? path : path.slice(1);
}

const WORDS = { true: "True", false: "False", null: "None" };

/** Write a JSON value as Jinja prints it: text bare, everything else as Python does. */
function asPython(raw, inside = false) {
  const first = raw[0];
  if (first === '"') return inside ? pythonString(JSON.parse(raw)) : JSON.parse(raw);
  if (first === "[")
    return `[${items(raw, 0)
      .map((item) => asPython(raw.slice(item.start, item.end), true))
      .join(", ")}]`;
  if (first === "{") {
    const last = new Map(members(raw, 0).map((m) => [m.key, asPython(raw.slice(m.start, m.end), true)]));
    return `{${[...last].map(([key, value]) => `${pythonString(key)}: ${value}`).join(", ")}}`;
  }
  return WORDS[raw] ?? pythonNumber(raw);
}

function pythonNumber(raw) {
  if (/^-?\d+$/.test(raw)) return String(BigInt(raw));
  const value = Number(raw);
  if (!Number.isFinite(value)) return value < 0 ? "-inf" : "inf";
  if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
  const [digits, exponent] = value
    .toExponential()
    .split("e")
    .map((part, i) => (i ? Number(part) : part));
  if (exponent < -4 || exponent >= 16)
    return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  const plain = Math.abs(value) < 1e-6 ? value.toFixed(20).replace(/0+$/, "") : String(value);
  return /\./.test(plain) ? plain : `${plain}.0`;
}

function pythonString(text) {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const body = text
    .replace(/\\/g, "\\\\")
    .replaceAll(quote, `\\${quote}`)
    .replace(/\n/g, "\\n")
    .replace(/\r/g, "\\r")
    .replace(/\t/g, "\\t")
    .replace(/[\p{C}\p{Z}]/gu, (c) => (c === " " ? c : escapeOf(c.codePointAt(0))));
  return quote + body + quote;
}

/** Write a character that cannot be printed the way Python does. */
function escapeOf(code) {
  const [mark, width] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
  return `\\${mark}${code.toString(16).padStart(width, "0")}`;
}
