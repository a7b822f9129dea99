// The panel of filters and the chips that say which are on. Draws from the query and the store; changes go through `change`.
import { CHOICES, RANGES, SORTS, tallyNames } from "../data/query.js";
import { NAMES } from "../data/store.js";
import { make, put } from "../kit/dom.js";
import { count } from "../kit/words.js";
import { COMPARED } from "../comparing/comparison.js";

const CHOICE_TITLES = {
  status: "Status",
  finish: "Finish reason",
  endpoint: "Endpoint",
  code: "Error",
  kind: "Kind",
  dialect: "Format",
  worker: "Worker",
  label: "Class",
};
const RANGE_TITLES = {
  tokensOut: "Tokens out",
  tokensIn: "Tokens in",
  length: "Answer characters",
  seconds: "Latency, seconds",
};

/** Draw the panel. Groups with a single value are left out: they separate nothing. */
export function filterPanel(store, query, change) {
  const groups = CHOICES.map((name) => choiceGroup(store, query, name, change)).filter(Boolean);
  const ranges = RANGES.filter((name) => hasNumbers(store, name)).map((name) => rangeGroup(query, name, change));
  return [...groups, ...ranges, fieldGroup(store, change)].filter(Boolean);
}

function hasNumbers(store, name) {
  for (let at = 0; at < Math.min(store.size, 2000); at++) if (store[name][at] >= 0) return true;
  return false;
}

function choiceGroup(store, query, name, change) {
  const values = tallyNames(store, name).filter(([value]) => value);
  if (values.length < 2 && !query[name]) return null;
  const boxes = values.slice(0, 12).map(([value, rows]) =>
    make(
      "label",
      { class: "check" },
      make("input", {
        type: "checkbox",
        checked: query[name]?.has(value),
        onchange: (event) => change({ [name]: toggled(query[name], value, event.target.checked) }),
      }),
      make("span", { dir: "auto" }, value),
      make("span", { class: "muted" }, count(rows)),
    ),
  );
  return make("fieldset", {}, make("legend", {}, CHOICE_TITLES[name]), boxes);
}

/** A set with a value put in or taken out; nothing where it becomes empty. */
function toggled(set, value, on) {
  const next = new Set(set || []);
  if (on) next.add(value);
  else next.delete(value);
  return next.size ? next : undefined;
}

function rangeGroup(query, name, change) {
  const field = (end, label) =>
    make("input", {
      type: "number",
      min: 0,
      step: "any",
      placeholder: label,
      "aria-label": `${RANGE_TITLES[name]}, ${label}`,
      value: query[`${name}.${end}`] ?? "",
      onchange: (event) =>
        change({ [`${name}.${end}`]: event.target.value === "" ? undefined : Number(event.target.value) }),
    });
  return make(
    "fieldset",
    { class: "range" },
    make("legend", {}, RANGE_TITLES[name]),
    field("min", "at least"),
    field("max", "at most"),
  );
}

/** Any field of the rows, or of answers that are shown as columns, holds a text. */
function fieldGroup(store, change) {
  const names = columnNames(store);
  if (!names.length) return null;
  const name = make(
    "select",
    { "aria-label": "Field" },
    names.map(([of, each]) => make("option", { value: of === "answer" ? `answer:${each}` : each }, each, of === "answer" ? " (answer)" : "")),
  );
  const chosen = () => names[name.selectedIndex];
  const value = make("input", {
    type: "text",
    placeholder: "holds …",
    "aria-label": "The field holds",
    list: "fieldvalues",
  });
  const offers = make("datalist", { id: "fieldvalues" });
  const offer = () =>
    put(
      offers,
      [...new Set(store.column(...chosen()).slice(0, 5000))]
        .filter(Boolean)
        .slice(0, 40)
        .map((text) => make("option", { value: text })),
    );
  const add = () => change({ field: { of: chosen()[0], name: chosen()[1], value: value.value } });
  name.addEventListener("change", offer);
  value.addEventListener("keydown", (event) => event.key === "Enter" && add());
  offer();
  return make(
    "fieldset",
    { class: "range" },
    make("legend", {}, "Field"),
    name,
    value,
    offers,
    make("button", { type: "button", onclick: add }, "Add"),
  );
}

/** What is on, each with a button to take it off. */
export function queryChips(query, change) {
  const chips = [];
  const chip = (text, off) =>
    chips.push(
      make(
        "button",
        { type: "button", class: "chip on", title: "Take this filter off", onclick: () => change(off) },
        make("bdi", {}, text),
        make("span", { "aria-hidden": "true" }, " ×"),
        make("span", { class: "offscreen" }, " (take off)"),
      ),
    );
  if (query.q) chip(`“${query.q}”`, { q: "" });
  for (const name of CHOICES)
    for (const value of query[name] || [])
      chip(`${CHOICE_TITLES[name]}: ${value}`, { [name]: toggled(query[name], value, false) });
  for (const name of RANGES) {
    const [low, high] = [query[`${name}.min`], query[`${name}.max`]];
    if (low !== undefined || high !== undefined)
      chip(`${RANGE_TITLES[name]} ${rangeText(low, high)}`, { [`${name}.min`]: undefined, [`${name}.max`]: undefined });
  }
  query.fields.forEach((field, n) => chip(fieldText(field), { fields: query.fields.filter((_, i) => i !== n) }));
  if (query.same !== undefined) chip(`The same answer as line ${count(query.same)}`, { same: undefined });
  if (query.compare) chip(COMPARED[query.compare], { compare: "" });
  if (chips.length > 1)
    chips.push(make("button", { type: "button", class: "small", onclick: () => change(null) }, "Clear all"));
  return chips;
}

/** A filter on a field as a chip says it. */
function fieldText({ how, name, value }) {
  const signs = { is: " = ", min: " ≥ ", below: " < " };
  return `${name}${signs[how] || ": "}${value || "any"}`;
}

function rangeText(low, high) {
  const round = (value) => String(Math.round(value * 1000) / 1000);
  if (low === undefined) return `≤ ${round(high)}`;
  return high === undefined ? `≥ ${round(low)}` : `${round(low)} – ${round(high)}`;
}

/** Sort choices: the columns, and every pass-through field. */
export function sortOptions(store) {
  const columns = SORTS.filter(([name]) => name === "line" || NAMES.includes(name) || hasNumbers(store, name));
  const titles = { field: "Field", answer: "Answer" };
  return [...columns, ...columnNames(store).map(([of, name]) => [`${of}:${name}`, `${titles[of]} ${name}`])];
}

/** The columns of texts: [of, name], those of the answers first. */
export function columnNames(store) {
  const answers = store.split ? [...store.answers.keys()] : [];
  return [...answers.map((name) => ["answer", name]), ...[...store.fields.keys()].map((name) => ["field", name])];
}
