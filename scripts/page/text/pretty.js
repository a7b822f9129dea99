// JSON indented and coloured for the eye.
import { make } from "../kit/dom.js";
import { tokens } from "../kit/exact.js";
import { count } from "../kit/words.js";

/** Show JSON indented and coloured, from its source text, so that nothing in it changes. */
export function prettyJson(text, limit = 200000) {
  const pre = make("pre", { class: "json", dir: "ltr", tabindex: "0" });
  let depth = 0;
  let plain = "";
  const line = () => (plain += "\n" + "  ".repeat(Math.min(depth, 40)));
  const flush = () => (pre.append(plain), (plain = ""));
  let before = "";
  const list = [...tokens(text.slice(0, limit))].filter((token) => token.kind !== "space");
  list.forEach((token, at) => {
    const after = list[at + 1] ? list[at + 1].text : "";
    if (token.kind !== "mark") {
      flush();
      pre.append(make("span", { class: token.kind === "string" && after === ":" ? "key" : token.kind }, token.text));
    } else if ("}]".includes(token.text)) {
      depth--;
      if (before !== "{" && before !== "[") line();
      plain += token.text;
    } else {
      plain += token.text === ":" ? ": " : token.text;
      if ("{[".includes(token.text)) depth++;
      if (token.text === "," || ("{[".includes(token.text) && after !== "}" && after !== "]")) line();
    }
    before = token.text;
  });
  flush();
  if (text.length > limit) pre.append(`\n… ${count(text.length - limit)} more characters`);
  return pre;
}
