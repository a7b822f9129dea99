// Says where JSON text breaks and what was expected there. Browsers say it each in their own words, or not at all.
import { skipSpace } from "../../../scripts/page/kit/jsontext.js";

const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y;
const WORD = /true|false|null/y;
const CONSTANT = /-?(?:NaN|Infinity)/y;
const LONGEST = 2_000_000; // characters looked through: beyond, the place is not worth the wait

/** Find the fault of text that JSON.parse refuses: {at, words}. */
export function findFault(text) {
  if (text.length > LONGEST) return { at: 0, words: "not JSON, and too long to say where" };
  const open = [];
  let at = skipSpace(text, 0);
  let want = "value";
  for (;;) {
    if (want === "after" && open.length === 0)
      return at < text.length ? fault(at, "nothing may stand after the row") : fault(at, "not JSON");
    if (at >= text.length)
      return fault(at, open.length ? `it ends before its “${open.at(-1) === "{" ? "}" : "]"}”` : "it is empty");
    const step = STEPS[want](text, at, open);
    if (step.words) return step;
    at = skipSpace(text, step.at);
    want = step.want;
  }
}

const fault = (at, words) => ({ at, words });

const STEPS = {
  value: takeValue,
  first: (text, at, open) =>
    text[at] === close(open) ? leave(at, open) : open.at(-1) === "{" ? takeKey(text, at) : takeValue(text, at, open),
  key: takeKey,
  colon: (text, at) => (text[at] === ":" ? { at: at + 1, want: "value" } : fault(at, "a colon is missing")),
  after(text, at, open) {
    if (text[at] === close(open)) return leave(at, open);
    return text[at] === ","
      ? { at: at + 1, want: open.at(-1) === "{" ? "key" : "value" }
      : fault(at, "a comma or a closing bracket is missing");
  },
};

const close = (open) => (open.at(-1) === "{" ? "}" : "]");

function leave(at, open) {
  open.pop();
  return { at: at + 1, want: "after" };
}

function takeKey(text, at) {
  if (text[at] !== '"')
    return fault(at, text[at] === "}" ? "a comma stands before the bracket" : "a name in double quotes is missing");
  return takeString(text, at, "colon");
}

function takeString(text, at, want) {
  const end = match(STRING, text, at);
  return end === null ? stringFault(text, at) : { at: end, want };
}

function stringFault(text, at) {
  for (let i = at + 1; i < text.length; i += 1) {
    if (text[i] === '"') break;
    if (text[i] < " ") return fault(i, "a control character must be written as an escape, such as \\n or \\t");
    if (text[i] !== "\\") continue;
    if (!/^\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/.test(text.slice(i, i + 6)))
      return fault(i, "a backslash begins no known escape");
    i += 1;
  }
  return fault(at, "the text that begins here is never closed");
}

function takeValue(text, at, open) {
  if (text[at] === "{" || text[at] === "[") {
    open.push(text[at]);
    return { at: at + 1, want: "first" };
  }
  if (text[at] === '"') return takeString(text, at, "after");
  const constant = match(CONSTANT, text, at);
  if (constant !== null)
    return fault(at, `${text.slice(at, constant)} is not a JSON number; write null or leave the field out`);
  const end = match(NUMBER, text, at) ?? match(WORD, text, at);
  return end === null ? fault(at, "a value is missing or not written as JSON") : { at: end, want: "after" };
}

function match(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : null;
}
