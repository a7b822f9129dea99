// The run of this page: reading its blocks, and the overview, which is drawn again while rows are read.
import { drawFilters } from "./bars.js";
import { openPosition, openRow, positionOf } from "./reader.js";
import { held, page, pick, refresh, state, summary, tally } from "./state.js";
import { pageBlocks } from "../data/blocks.js";
import { tallyNames } from "../data/query.js";
import { readVectors } from "../data/vectors.js";
import { breathe, byId, make, put, setText } from "../kit/dom.js";
import { answerCharts } from "../views/answercharts.js";
import { moment } from "../kit/words.js";
import { failures } from "../views/failures.js";
import { mapCard } from "../views/map.js";
import { figures, howItWasRun, outcome, remarks, rowCharts, timeCharts } from "../views/overview.js";

/** Draw the overview; again while rows are read. */
export function drawOverview() {
  for (const time of document.querySelectorAll(".titles time")) setText(time, moment(time.dateTime));
  put(byId("cards"), outcome(summary, pick), figures(summary));
  put(byId("remarks"), remarks(summary, held));
  put(byId("run"), howItWasRun(summary));
  drawFailures();
}

function drawFailures() {
  put(byId("failures"), failures(page, state.store, pick));
}

export function drawCharts(map) {
  put(byId("charts"), answerCharts(state.store, pick), rowCharts(state.store, pick), timeCharts(tally, pick), map);
  const names = [...byId("charts").querySelectorAll("figcaption strong")].map((title) => title.textContent);
  setText(byId("chartnames"), names.length ? `: ${names.join(", ")}` : "");
}

/** Say why rows are not shown. */
function tellMissing(text) {
  byId("remarks").append(make("p", { class: "remarks", role: "alert" }, text));
  document.documentElement.dataset.state = "ready";
}

/** Read the page's blocks, showing the first rows as soon as they are there. */
export async function readBlocks() {
  if (!("DecompressionStream" in globalThis))
    return tellMissing("This browser is too old to unpack the rows: open the page in a newer one, or output.jsonl beside it.");
  let shown = 0;
  let pause = 400; // milliseconds between drawings, longer each time
  for await (const block of pageBlocks()) {
    await state.store.add(block);
    const now = performance.now();
    if (now - shown > pause) {
      await refresh();
      drawCharts();
      document.documentElement.dataset.state = "rows";
      if (!shown) performance.mark("first-rows");
      shown = performance.now();
      pause *= 2;
    }
    await breathe();
  }
  state.store.complete = true;
  await refresh();
  if (state.store.size < held.held)
    tellMissing("This is a copy that a browser saved, which leaves the rows out: open the job's own results.html.");
  drawCharts();
  drawFilters();
  drawFailures();
  performance.mark("complete");
  document.documentElement.dataset.state = "ready";
  await drawMap();
}

async function drawMap() {
  if (!tallyNames(state.store, "kind").some(([name, n]) => name === "embedding" && n > 2)) return;
  const found = await readVectors(state.store);
  if (found.points.length < 3) return;
  state.points = found.points;
  drawCharts(mapCard(found, (at) => pick({}).then(() => openPosition(positionOf(at), true))));
  if (state.at >= 0) openRow(state.at);
}
