// The bars around the list: counts, chips, the panel of filters, the order.
import { change, held, state } from "./state.js";
import { CUT, isOpen, tallyNames } from "../data/query.js";
import { byId, make, put } from "../kit/dom.js";
import { count, plural } from "../kit/words.js";
import { drawHeadings } from "../views/columns.js";
import { filterPanel, queryChips, sortOptions } from "../views/filters.js";

/** Bring the toolbar in line with the state. */
export function drawBars() {
  const { store, query, rows } = state;
  const whole = state.store.complete ? "" : `, reading … ${Math.round((store.size / Math.max(1, held.held)) * 100)} %`;
  byId("count").textContent =
    (isOpen(query) ? plural(rows.length, "row") : `${count(rows.length)} of ${plural(store.size, "row")}`) + whole;
  put(byId("chips"), queryChips(query, change));
  if (!byId("filters").hidden && !byId("filters").contains(document.activeElement)) drawFilters();
  byId("empty").hidden = rows.length > 0;
  drawSort();
  drawSegments();
  drawHeadings(store, query, change);
}

const FAILED = ["failed", "missing"];

/** The three commonest filters, with how many rows each has. */
function drawSegments() {
  const { store, query } = state;
  const sum = (column, names) =>
    tallyNames(store, column).reduce((all, [name, n]) => all + (names.includes(name) ? n : 0), 0);
  const counts = { all: store.size, failed: sum("status", FAILED), cut: sum("finish", CUT) };
  byId("retry").hidden = counts.failed === 0; // there is nothing to save
  for (const button of document.querySelectorAll("[data-status]")) {
    button.setAttribute("aria-pressed", String(statusOf(query) === button.dataset.status));
    button.lastElementChild.textContent = count(counts[button.dataset.status]);
  }
}

function statusOf({ status, finish }) {
  if (finish && [...finish].every((name) => CUT.includes(name))) return "cut";
  if (!status) return "all";
  return status.size === FAILED.length && FAILED.every((name) => status.has(name)) ? "failed" : "";
}

/** Show all rows, the failed ones or those that were cut off. */
export function chooseStatus(name) {
  return change({
    status: name === "failed" ? new Set(FAILED) : undefined,
    finish: name === "cut" ? new Set(CUT) : undefined,
  });
}

/** Show the failed rows only, or all rows again. */
export const toggleFailed = () =>
  statusOf(state.query) === "failed" ? change({ status: undefined }) : chooseStatus("failed");

export function drawFilters() {
  put(
    byId("filters"),
    filterPanel(state.store, state.query, (parts) => change(parts).then(drawFilters)),
  );
}

export function showFilters() {
  const panel = byId("filters");
  panel.hidden = !panel.hidden;
  byId("filterbutton").setAttribute("aria-expanded", String(!panel.hidden));
  if (!panel.hidden) drawFilters();
}

function drawSort() {
  const options = sortOptions(state.store);
  const select = byId("sort");
  const value = state.query.sort;
  if (select.options.length !== options.length || select.value !== value)
    put(
      select,
      options.map(([name, title]) => make("option", { value: name, selected: name === value }, title)),
    );
  byId("direction").textContent = state.query.down ? "↓" : "↑";
  byId("direction").setAttribute("aria-label", state.query.down ? "Descending; turn round" : "Ascending; turn round");
}
