// A second file on the page: opened in place of this run's rows, or compared with them.
import { openRow } from "./reader.js";
import { drawCharts } from "./runs.js";
import { change, held, refresh, state, summary } from "./state.js";
import { Comparison } from "../comparing/comparison.js";
import { comparePanel } from "../comparing/panel.js";
import { mayDrop } from "../comparing/vote.js";
import { byId, put } from "../kit/dom.js";
import { plural } from "../kit/words.js";
import { askWhat, isPage, readFile } from "../taking/drop.js";
import { say } from "../views/toast.js";

/** Ask before the page is left with votes that nobody saved. */
export const keepVotes = () =>
  addEventListener("beforeunload", (event) => state.comparison?.saved === false && event.preventDefault());

/** Draw the panel of the comparison, while there is one. */
export function drawComparison() {
  const { comparison, query } = state;
  byId("compare").hidden = !comparison;
  if (comparison) put(byId("compare"), comparePanel(comparison, query, { change, repair, stop: stopComparing }));
}

/** A file was dropped or chosen. */
export async function takeFile(file) {
  const what = await askWhat(file, await isPage(file));
  if (!what) return;
  const progress = (rows, share) =>
    (byId("count").textContent =
      `Reading ${file.name}: ${plural(rows, "row")}${share === null ? "" : `, ${Math.round(share * 100)} %`}`);
  const store = await readFile(file, summary, progress);
  if (!store) return say(`${file.name} holds no rows`);
  if (!(await mayDrop(state.comparison))) return;
  if (what === "compare") {
    for (const side of [state.store, store]) await side.readOwn();
    state.comparison = new Comparison(state.store, store, file.name, held);
  }
  if (what === "open") Object.assign(state, { store, comparison: null, at: -1, points: null });
  document.body.classList.toggle("foreign", what === "open");
  if (what === "open") drawCharts();
  state.query.compare = "";
  await refresh();
  if (state.at >= 0) openRow(state.at);
  say(what === "compare" ? `Compared with ${file.name}` : `${plural(store.size, "row")} of ${file.name}`);
}

async function repair(by) {
  if (!(await mayDrop(state.comparison))) return drawComparison();
  state.comparison.pair(by);
  state.comparison.votes.clear();
  state.comparison.saved = true;
  refresh().then(() => state.at >= 0 && openRow(state.at));
}

async function stopComparing() {
  if (!(await mayDrop(state.comparison))) return;
  state.comparison = null;
  change({ compare: "" }).then(() => state.at >= 0 && openRow(state.at));
}
