// The part of the form that holds a row's name and the fields that are the user's own. They pass through the job unchanged.
import { make } from "../../../scripts/page/kit/dom.js";
import { onOneLine, rename } from "../../../scripts/page/kit/jsontext.js";
import { freshId } from "../frame/widgets.js";
import { FORM } from "../rules/values.js";
import { namesOf, offers } from "../rules/lens.js";

const same = (a, b) => a && a.length === b.length && a.every((step, i) => step === b[i]);

/** List the top-level fields that no other part of the form shows. */
export function otherNames(draft) {
  const { lens } = draft;
  const taken = [lens.prompt, lens.messages, lens.system, lens.url, lens.id];
  const shown =
    lens.base.length === 0
      ? new Set(FORM.filter((option) => offers(lens, option)).flatMap((option) => namesOf(lens, option)))
      : new Set();
  return Object.keys(draft.parsed).filter(
    (key) =>
      !taken.some((path) => same(path, [key])) && !shown.has(key) && ![lens.base[0], lens.nested?.[0]].includes(key),
  );
}

/** Build the row's name and its other fields. */
export function otherFields(draft) {
  const rows = otherNames(draft).map((name) => oneField(draft, name));
  return [
    make("p", { class: "label", text: "Name and other fields" }),
    make("p", { class: "quiet tight", text: "They come back with the answer as they are." }),
    make("div", { class: "others" }, [idField(draft), ...rows]),
    adder(draft),
  ];
}

function idField(draft) {
  const path = draft.lens.id;
  const id = freshId();
  const input = make("input", { id, "data-path": "id", autocomplete: "off", spellcheck: "false" });
  draft.follow(input, () => {
    const value = draft.value(path);
    return value === undefined ? "" : typeof value === "string" ? value : draft.rawAt(path);
  });
  input.addEventListener("input", () =>
    draft.write(path, input.value === "" ? undefined : sameKind(input.value, draft.value(path))),
  );
  return make("div", { class: "other" }, [make("label", { for: id, class: "mono", text: path.at(-1) }), input]);
}

/** Keep a number a number and a text a text. */
function sameKind(typed, before) {
  return typeof before === "number" && /^-?(0|[1-9]\d*)$/.test(typed) ? typed : JSON.stringify(typed);
}

function oneField(draft, name) {
  const path = [name];
  const text = typeof draft.value(path) === "string";
  const value = make(text ? "textarea" : "input", {
    rows: "1",
    dir: "auto",
    "aria-label": `Value of ${name}${text ? "" : ", as JSON"}`,
    "data-path": `other/${name}`,
    autocomplete: "off",
    spellcheck: "false",
    class: text ? null : "mono",
  });
  draft.follow(value, () => (typeof draft.value(path) === "string" ? draft.value(path) : (draft.rawAt(path) ?? "")));
  value.addEventListener("input", () => writeValue(draft, path, value, text));
  const key = make("input", {
    class: "mono name",
    value: name,
    "aria-label": `Name of the field ${name}`,
    autocomplete: "off",
    spellcheck: "false",
    onchange: () => {
      if (key.value && !Object.hasOwn(draft.parsed, key.value))
        draft.replace(rename(draft.raw, path, key.value), "rename");
      else key.value = name;
    },
  });
  const remove = make(
    "button",
    { type: "button", class: "icon small", onclick: () => draft.write(path, undefined) },
    [
      make("span", { "aria-hidden": "true", text: "✕" }),
      make("span", { class: "sr", text: `Delete the field ${name}` }),
    ],
  );
  return make("div", { class: "other" }, [key, value, remove]);
}

function writeValue(draft, path, input, text) {
  if (text) return draft.write(path, JSON.stringify(input.value));
  const raw = onOneLine(input.value.trim());
  const broken = fault(raw);
  if (broken) input.setAttribute("aria-invalid", "true");
  else input.removeAttribute("aria-invalid");
  return broken ? undefined : draft.write(path, raw);
}

function fault(raw) {
  try {
    JSON.parse(raw);
    return false;
  } catch {
    return true;
  }
}

function adder(draft) {
  const name = make("input", {
    class: "mono",
    placeholder: "field name",
    "aria-label": "Name of a new field",
    autocomplete: "off",
    spellcheck: "false",
    "data-path": "new-field",
  });
  const add = () => {
    if (name.value && !Object.hasOwn(draft.parsed, name.value)) draft.write([name.value], '""');
  };
  name.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      add();
    }
  });
  return make("div", { class: "adder" }, [
    name,
    make("button", { type: "button", class: "small", text: "Add the field", onclick: add }),
  ]);
}
