// A cell of the table edited in its place: its text for texts, JSON for everything else.
import { make } from "../../../scripts/page/kit/dom.js";
import { onOneLine, rawAt, setRaw } from "../../../scripts/page/kit/jsontext.js";

/** Turn a cell into a field for the value at `path`; Enter keeps what is typed, Escape does not. */
export function editCell(cell, { raw, path, label, keep, leave }) {
  const before = rawAt(raw, path);
  const text = before === undefined || before.startsWith('"');
  const input = make("input", {
    class: "cell-input",
    value: before === undefined ? "" : text ? JSON.parse(before) : before,
    "aria-label": label,
    autocomplete: "off",
    spellcheck: "false",
  });
  const start = input.value;
  let done = false;
  const finish = (wanted) => {
    if (done) return;
    done = true;
    if (wanted && input.value !== start) keep(setRaw(raw, path, asRaw(input.value, text)));
    leave();
  };
  input.addEventListener("blur", () => finish(true));
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter" || event.key === "Escape") finish(event.key === "Enter");
  });
  cell.replaceChildren(input);
  input.focus();
  input.select();
}

/** A text stays a text; what was JSON stays JSON as long as it is. */
function asRaw(typed, text) {
  if (text) return JSON.stringify(typed);
  try {
    JSON.parse(typed);
    return onOneLine(typed.trim());
  } catch {
    return JSON.stringify(typed);
  }
}
