// The answers' fields side by side in the list, below headings that sort by them.
import { byId, make, put } from "../kit/dom.js";
import { asText, isNumber } from "../kit/exact.js";
import { oneLine } from "../kit/words.js";

const MOST_COLUMNS = 6; // side by side; the pane and the table have all

const shownNames = (store) => [...store.answers.keys()].slice(0, MOST_COLUMNS);

/** An answer's values below the headings. */
export function answerCells(store, fields) {
  const values = new Map(fields);
  return make(
    "span",
    { class: "cells" },
    shownNames(store).map((name) => {
      const value = values.get(name);
      const text = oneLine(shown(value));
      return make("span", { class: isNumber(value) ? "number" : "", dir: "auto", title: `${name}: ${text}` }, text);
    }),
  );
}

/** A value as a cell shows it: a list of plain values without its brackets. */
function shown(value) {
  if (value === undefined || value === null) return "";
  const isPlain = Array.isArray(value) && value.every((item) => typeof item !== "object" || item === null);
  return isPlain ? value.map(asText).join(", ") : asText(value);
}

/** Draw the headings of the answers' fields, each a button that sorts by it; nothing where answers are no objects. */
export function drawHeadings(store, query, change) {
  const names = store.split ? shownNames(store) : [];
  byId("headings").hidden = !names.length;
  byId("reader").classList.toggle("columns", names.length > 0);
  byId("reader").style.setProperty("--columns", names.length);
  put(byId("headings"), make("span", { class: "cells" }, names.map((name) => heading(name, query, change))));
}

function heading(name, query, change) {
  const sort = `answer:${name}`;
  const on = query.sort === sort;
  return make(
    "button",
    {
      type: "button",
      title: `Sort by ${name}`,
      "aria-pressed": String(on),
      onclick: () => change({ sort, down: on && !query.down }),
    },
    name,
    on ? (query.down ? " ↓" : " ↑") : "",
  );
}
