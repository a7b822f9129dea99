// JSON that keeps what JavaScript's numbers would lose: 12345678901234567890 stays as the source wrote it.

/** A number whose value a double cannot hold, as its source text. */
class Exact {
  constructor(source) {
    this.source = source;
  }
  toString() {
    return this.source;
  }
  toJSON() {
    return this.source;
  }
}

const MAY_BE_INEXACT = /[0-9][0-9.]{15}|[0-9][eE][+-]?[0-9]{3}/;

/** Parse JSON; throws SyntaxError. The slower exact way is taken only for texts with very long numbers. */
export function parseJson(text) {
  const value = JSON.parse(text);
  if (!MAY_BE_INEXACT.test(text) || text.length > 2e6) return value;
  return new ExactParser(text).value(0);
}

/** parseJson, or undefined for what is no JSON. */
export function tryJson(text) {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Read JSON known to be valid, number by number. */
class ExactParser {
  constructor(text) {
    this.tokens = tokens(text);
    this.next();
  }
  next() {
    do this.token = this.tokens.next().value;
    while (this.token && this.token.kind === "space");
  }
  take() {
    const { text } = this.token;
    this.next();
    return text;
  }
  value(depth) {
    if (depth > 200) throw new SyntaxError("nested too deeply");
    const { kind, text } = this.token;
    if (text === "{") return this.object(depth);
    if (text === "[") return this.array(depth);
    this.next();
    if (kind !== "number") return JSON.parse(text);
    const plain = Number(text);
    return digitsOf(text) === digitsOf(String(plain)) ? plain : new Exact(text);
  }
  object(depth) {
    const result = {};
    this.take();
    while (this.token.text !== "}") {
      const name = JSON.parse(this.take());
      this.take(); // the colon
      const value = this.value(depth + 1);
      Object.defineProperty(result, name, { value, enumerable: true, writable: true, configurable: true });
      if (this.token.text === ",") this.take();
    }
    this.take();
    return result;
  }
  array(depth) {
    const result = [];
    this.take();
    while (this.token.text !== "]") {
      result.push(this.value(depth + 1));
      if (this.token.text === ",") this.take();
    }
    this.take();
    return result;
  }
}

/** A number's digits and its power of ten, the same for every way of writing it. */
function digitsOf(text) {
  const [, sign, whole, part = "", power = "0"] = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/.exec(text) || [];
  if (whole === undefined) return text; // Infinity
  const digits = (whole + part).replace(/^0+/, "");
  const short = digits.replace(/0+$/, "");
  return short ? `${sign}${short}e${Number(power) - part.length + digits.length - short.length}` : "0";
}

const TOKEN = /"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*|true|false|null|[{}[\],:]|\s+|[^]/g;

/** Yield the tokens of a JSON text as {kind, text}; anything unexpected is a token of its own. */
export function* tokens(text) {
  for (const [token] of text.matchAll(TOKEN)) {
    const first = token[0];
    if (first === '"') yield { kind: "string", text: token };
    else if (first === "-" || (first >= "0" && first <= "9")) yield { kind: "number", text: token };
    else if ("{}[],:".includes(first)) yield { kind: "mark", text: token };
    else if (/^\s/.test(token)) yield { kind: "space", text: token };
    else yield { kind: "word", text: token };
  }
}

export const isObject = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Exact);
export const isNumber = (value) => typeof value === "number" || value instanceof Exact;

/** A value as one line of text: strings as they are, the rest as JSON. */
export function asText(value) {
  if (typeof value === "string") return value;
  if (value === undefined) return "";
  return value instanceof Exact ? value.source : toJson(value);
}

/** JSON of a parsed value, exact numbers as their source. */
export function toJson(value, depth = 0) {
  if (value instanceof Exact) return value.source;
  if (depth > 200) return '"…"';
  if (Array.isArray(value)) return `[${value.map((item) => toJson(item, depth + 1)).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  return `{${Object.keys(value)
    .map((key) => `${JSON.stringify(key)}:${toJson(value[key], depth + 1)}`)
    .join(",")}}`;
}

export function tryPlain(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const numeric = (value) => (isNumber(value) ? Number(value) : null);
