// The part of the form that holds a row's options, with their meaning and bounds.
import { make, setText } from "../../../scripts/page/kit/dom.js";
import { onOneLine } from "../../../scripts/page/kit/jsontext.js";
import { freshId } from "../frame/widgets.js";
import { FORM, optionFault } from "../rules/values.js";
import { offers, optionPath } from "../rules/lens.js";

const SHAPES = {
  response_format: [
    ["JSON object", '{"type": "json_object"}'],
    [
      "JSON schema",
      '{"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}}}',
    ],
  ],
  structured_outputs: [
    ["Choice", '{"choice": ["yes", "no"]}'],
    ["Regex", '{"regex": "[0-9]+"}'],
  ],
};

/** Build the groups of options, and a function that marks faults and counts. */
export function optionGroups(draft) {
  const groups = new Map();
  const marks = [];
  for (const option of FORM) {
    if (!offers(draft.lens, option)) continue;
    const field = optionField(draft, option);
    groups.set(option.group, [...(groups.get(option.group) ?? []), field]);
    marks.push(field.mark);
  }
  const nodes = [...groups].map(([name, fields]) => group(name, fields, marks));
  return {
    nodes: [
      make("p", { class: "label", text: "Options of this row" }),
      make("p", { class: "quiet tight", text: "Empty means the job’s default." }),
      ...nodes,
    ],
    marks: () => marks.forEach((mark) => mark()),
  };
}

function group(name, fields, marks) {
  const count = make("span", { class: "pill" });
  const details = make("details", { "data-group": name }, [
    make("summary", {}, [make("span", { text: name }), count]),
    make(
      "div",
      { class: "options" },
      fields.map((field) => field.node),
    ),
  ]);
  details.open = name === "Basics" || fields.some((field) => field.isSet());
  marks.push(() => {
    const set = fields.filter((field) => field.isSet()).length;
    setText(count, set ? `${set} set` : "");
    count.hidden = set === 0;
  });
  return details;
}

function optionField(draft, option) {
  const id = freshId();
  const path = () => optionPath(draft.lens, draft.parsed, option);
  const input = make(option.wide || isStrings(option) ? "textarea" : "input", {
    id,
    "data-path": `option/${option.name}`,
    placeholder: option.wide ? option.hint : "job’s default",
    autocomplete: "off",
    spellcheck: "false",
    "aria-describedby": `${id}-help ${id}-fault`,
    rows: "2",
  });
  const bounds = option.takes.find(({ kind }) => kind === "number" || kind === "integer");
  if (bounds && option.takes.length === 1) input.inputMode = bounds.low >= 0 ? "decimal" : "text";
  if (option.wide) input.classList.add("mono");
  const fault = make("p", { class: "fault", id: `${id}-fault` });
  draft.follow(input, () => display(option, draft.value(path()), draft.rawAt(path())));
  input.addEventListener("input", () => draft.write(path(), encode(option, input.value, draft.value(path()))));
  const head = make("div", { class: "option-head" }, [
    make("label", { for: id, text: option.label }),
    make("code", { text: option.name }),
    ...presets(draft, option, path),
  ]);
  const node = make("div", { class: option.wide ? "option wide" : "option" }, [
    head,
    input,
    make("p", { class: "quiet help", id: `${id}-help`, text: `${option.help} (${option.hint})` }),
    fault,
  ]);
  const isSet = () => draft.value(path()) !== undefined;
  const mark = () => {
    const words = isSet() ? optionFault(path().at(-1), draft.value(path()), () => draft.rawAt(path()), option) : null;
    setText(fault, words ?? "");
    if (words) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
    node.classList.toggle("set", isSet());
  };
  return { node, mark, isSet };
}

function presets(draft, option, path) {
  return (SHAPES[option.name] ?? []).map(([label, raw]) =>
    make("button", {
      type: "button",
      class: "link",
      text: label,
      "aria-label": `${option.label}: ${label}`,
      onclick: () => draft.write(path(), raw),
    }),
  );
}

/** Tell whether an option takes one text or a list of them. */
const isStrings = ({ takes }) => takes.some(({ items }) => items === "string") && takes.some(({ kind }) => kind === "string");

/** Write an option's value as a person would type it. */
function display(option, value, raw) {
  if (value === undefined) return "";
  if (isStrings(option))
    return Array.isArray(value) && value.every((x) => typeof x === "string")
      ? value.map(escaped).join("\n")
      : typeof value === "string"
        ? escaped(value)
        : raw;
  return typeof value === "string" ? value : raw;
}

/** Turn what was typed into JSON text; undefined takes the option out. What is no number stays as text, and is marked. */
function encode(option, typed, now) {
  if (typed.trim() === "") return undefined;
  if (option.takes.every(({ kind }) => kind === "string")) return JSON.stringify(typed);
  if (isStrings(option)) return stops(typed, Array.isArray(now));
  const raw = onOneLine(typed.trim());
  return isJson(raw) ? raw : JSON.stringify(typed);
}

function isJson(text) {
  try {
    JSON.parse(text);
    return !/[\r\n]/.test(text);
  } catch {
    return false;
  }
}

function stops(typed, asList) {
  const lines = typed
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.stringify(unescaped(line)));
  return lines.length === 1 && !asList ? lines[0] : `[${lines.join(", ")}]`;
}

const escaped = (text) => JSON.stringify(text).slice(1, -1).replace(/\\"/g, '"');

function unescaped(line) {
  try {
    return JSON.parse(`"${line.replace(/"/g, '\\"')}"`);
  } catch {
    return line;
  }
}
