// One row as a form and as raw JSON. The form writes into the row's text value by value; what it does not show stays as it is.
import { conversation, conversationShape } from "./conversation.js";
import { optionGroups } from "./options.js";
import { otherFields, otherNames } from "./others.js";
import { byId, make, setText } from "../../../scripts/page/kit/dom.js";
import { onOneLine, rawAt, remove, setRaw } from "../../../scripts/page/kit/jsontext.js";
import { count } from "../../../scripts/page/kit/words.js";
import { checkOf, jobOf } from "../frame/state.js";
import { markTab, wireTabs } from "../frame/widgets.js";
import { parsedOf } from "../rows/faces.js";
import { findFault } from "../rules/jsonfault.js";
import { columnsAreData } from "../rules/data_columns.js";
import { lensOf, valueAt } from "../rules/lens.js";
import { dialectOf } from "../../../scripts/page/kit/rules.js";

const LONG = 20_000; // characters from which finding the direction of a text makes a browser slow

/** A row under edit: what the parts of the form need to read it and to write into it. */
class Draft {
  constructor(workspace, row) {
    this.workspace = workspace;
    this.id = row.id;
    this.controls = [];
    this.take(row);
  }

  take(row) {
    this.raw = row.raw;
    this.parsed = parsedOf(row);
    this.dialect = this.parsed ? dialectOf(this.parsed) : "none";
    const job = jobOf(this.workspace.settings);
    this.lens = this.parsed ? lensOf(this.dialect, this.parsed, columnsAreData(job)) : null;
  }

  value(path) {
    return valueAt(this.parsed, path);
  }
  rawAt(path) {
    return rawAt(this.raw, path);
  }

  /** Write JSON text at `path`, or take the member out when `raw` is undefined. */
  write(path, raw) {
    this.replace(raw === undefined ? remove(this.raw, path) : setRaw(this.raw, path, raw), path.join("/"));
  }

  replace(text, tag) {
    this.workspace.edit(this.id, text, tag);
  }

  /** Keep a control's content true to the row: `read` gives what it should show. */
  follow(element, read) {
    this.controls.push({ element, read });
    const value = read();
    if (element.dir === "auto" && value.length > LONG) element.dir = "ltr";
    element.value = value;
  }

  refresh() {
    for (const { element, read } of this.controls) {
      if (element === document.activeElement) continue;
      const value = read();
      if (element.value !== value) element.value = value;
    }
  }
}

export class Card {
  constructor(workspace, ui, act) {
    Object.assign(this, { workspace, ui, act, draft: null, shape: "" });
    this.element = byId("card");
    this.element.append(byId("card-template").content.cloneNode(true));
    this.part = Object.fromEntries(
      [...this.element.querySelectorAll("[data-part]")].map((part) => [part.dataset.part, part]),
    );
    this.button = Object.fromEntries(
      [...this.element.querySelectorAll("[data-act]")].map((button) => [button.dataset.act, button]),
    );
    this.button.close.addEventListener("click", () => act.close());
    this.button.back.addEventListener("click", () => act.walk(-1));
    this.button.next.addEventListener("click", () => act.walk(1));
    this.button.duplicate.addEventListener("click", () => act.duplicate());
    this.button.remove.addEventListener("click", () => act.remove());
    this.tabs = this.element.querySelector("[role=tablist]");
    wireTabs(this.tabs, (tab) => {
      this.ui.cardTab = tab.dataset.act;
      this.update();
    });
  }

  /** Show the active row, building the form anew only when its shape is another. */
  update() {
    const index = this.workspace.indexOf(this.ui.active);
    const row = this.workspace.rows[index];
    this.element.hidden = !row || !this.ui.cardOpen;
    if (this.element.hidden) {
      this.shape = "";
      return;
    }
    const tab = parsedOf(row) ? this.ui.cardTab : "raw";
    if (this.draft?.id !== row.id) this.draft = new Draft(this.workspace, row);
    else this.draft.take(row);
    this.head(row, index, tab);
    const shape = `${row.id}|${tab}|${tab === "form" ? this.formShape() : ""}`;
    if (shape !== this.shape) this.build(tab, shape);
    else this.draft.refresh();
    this.marks?.();
  }

  head(row, index, tab) {
    const check = checkOf(row, this.workspace.settings);
    setText(this.part.title, `Line ${index + 1}`);
    setText(this.part.kind, this.draft.lens?.label ?? "Broken");
    setText(this.part.fault, check.ok ? (row.note ?? "") : check.message);
    this.part.fault.classList.toggle("good", check.ok && !row.note);
    this.button.form.disabled = this.draft.parsed === null;
    markTab(this.tabs, this.button[tab]);
    this.part.body.setAttribute("aria-labelledby", this.button[tab].id);
  }

  formShape() {
    return JSON.stringify([this.draft.dialect, this.draft.lens, conversationShape(this.draft), otherNames(this.draft)]);
  }

  build(tab, shape) {
    const focus = this.shape && document.activeElement?.closest("#card") ? document.activeElement.dataset.path : null;
    const open = new Set([...this.part.body.querySelectorAll("details[open]")].map((group) => group.dataset.group));
    const top = this.shape.split("|")[0] === shape.split("|")[0] ? this.part.body.scrollTop : 0;
    this.shape = shape;
    this.draft.controls = [];
    const { nodes, marks } = tab === "raw" ? rawEditor(this.draft) : form(this.draft);
    this.marks = marks;
    this.part.body.replaceChildren(...nodes);
    for (const group of this.part.body.querySelectorAll("details"))
      if (open.has(group.dataset.group)) group.open = true;
    this.part.body.scrollTop = top;
    if (focus)
      [...this.part.body.querySelectorAll("[data-path]")].find((control) => control.dataset.path === focus)?.focus();
  }

  /** Put the cursor where a person would type first. */
  focus() {
    (this.part.body.querySelector("textarea, input") ?? this.part.body).focus();
  }
}

function form(draft) {
  const options = optionGroups(draft);
  return { nodes: [...conversation(draft), ...options.nodes, ...otherFields(draft)], marks: options.marks };
}

function rawEditor(draft) {
  const area = make("textarea", {
    id: "raw",
    class: "mono raw",
    rows: "18",
    spellcheck: "false",
    autocomplete: "off",
    "data-path": "raw",
    "aria-describedby": "raw-state",
  });
  const state = make("p", { id: "raw-state", class: "quiet" });
  const jump = make("button", {
    type: "button",
    class: "link",
    text: "Show where",
    hidden: true,
    onclick: () => showFault(area),
  });
  area.addEventListener("input", () => draft.replace(onOneLine(area.value).replace(/[\r\n]+/g, " "), "raw"));
  draft.follow(area, () => draft.raw);
  const marks = () => {
    const fault = faultOf(area.value);
    setText(
      state,
      fault
        ? `${fault.words}, at character ${fault.at + 1}`
        : `Valid JSON, ${count(draft.raw.length)} characters. Numbers and the order of fields stay as you write them.`,
    );
    jump.hidden = !fault;
  };
  return { nodes: [make("label", { for: "raw", text: "The line as the job reads it" }), area, state, jump], marks };
}

function faultOf(text) {
  try {
    JSON.parse(text);
    return null;
  } catch {
    return findFault(text);
  }
}

function showFault(area) {
  const { at } = faultOf(area.value);
  area.focus();
  area.setSelectionRange(at, Math.min(at + 1, area.value.length));
}
