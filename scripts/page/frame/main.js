// Joins every button, key and file to what it does, and starts the page.
import { chooseStatus, drawBars, showFilters, toggleFailed } from "./bars.js";
import { drawComparison, keepVotes, takeFile } from "./comparing.js";
import {
  answerText,
  closeAll,
  closeRow,
  drawPlace,
  list,
  openLine,
  openPosition,
  positionOf,
  rowLink,
  setLayout,
  setManner,
  step,
  vote,
} from "./reader.js";
import { drawOverview, readBlocks } from "./runs.js";
import { change, onRefresh, remember, state, wide } from "./state.js";
import { formatHash, parseHash, runQuery, wordsOf } from "../data/query.js";
import { byId, make, put } from "../kit/dom.js";
import { acceptKeys, keyList } from "../kit/keys.js";
import { acceptFiles } from "../taking/drop.js";
import { exportCsv, exportJsonl, exportRetry } from "../taking/export.js";
import { acceptPrinting } from "../taking/print.js";
import { stickyHeight } from "../views/list.js";
import { copy } from "../views/toast.js";

/** Bring everything on screen in line with the state. A later call overtakes an earlier one. */
async function update() {
  const turn = ++state.turn;
  const words = wordsOf(state.query.q);
  performance.mark("query");
  const extra =
    state.query.compare && state.comparison ? (at) => state.comparison.passes(at, state.query.compare) : null;
  const rows = await runQuery(state.store, state.query, () => turn === state.turn, extra);
  if (!rows || turn !== state.turn) return;
  performance.measure("query", "query");
  state.rows = rows;
  document.documentElement.dataset.words = words.join(" ");
  drawBars();
  drawComparison();
  list.reset();
  openFitting();
  remember();
}

/** Keep a row open that the list has: the first, where a change of the query took the open one away; none for no rows. */
function openFitting() {
  const asked = formatHash({ ...state.query, sort: "line", down: false }, null);
  const left = asked !== state.asked && state.at >= 0 && positionOf(state.at) < 0;
  state.asked = asked;
  if (state.line !== null && state.at < 0) return openLine(state.line);
  if (left) state.line = null;
  if (!state.rows.length && (left || state.at < 0)) return closeAll();
  if ((left || state.at < 0) && wide()) return openPosition(0, false);
  return drawPlace();
}

/** Close what is open on a phone, or clear the search and go back to the rows. */
function leave() {
  if (document.body.classList.contains("reading") && !wide()) return closeRow();
  if (document.activeElement === byId("search")) byId("list").focus({ preventScroll: true });
  return change({ q: "" });
}

/** The pane keeps clear of the toolbar, whatever its height. */
function watchToolbar() {
  new ResizeObserver(() => document.body.style.setProperty("--sticky", `${Math.ceil(stickyHeight())}px`)).observe(
    byId("toolbar"),
  );
}

/** Arrows and the like count in the list only: elsewhere the page scrolls with them. */
const inList = (event) => event.key.length === 1 || document.activeElement === byId("list");

const KEYS = [
  { keys: ["j", "ArrowDown"], where: inList, title: "Next row", run: () => step(1) },
  { keys: ["k", "ArrowUp"], where: inList, title: "Previous row", run: () => step(-1) },
  { keys: ["PageDown"], where: inList, title: "Ten rows on", run: () => step(10) },
  { keys: ["PageUp"], where: inList, title: "Ten rows back", run: () => step(-10) },
  { keys: ["Home"], where: inList, title: "First row", run: () => step(-Infinity) },
  { keys: ["End"], where: inList, title: "Last row", run: () => step(Infinity) },
  { keys: ["/"], title: "Search", run: () => byId("search").focus() },
  { keys: ["Escape"], typing: true, title: "Close, or clear the search", run: leave },
  { keys: ["f"], title: "Filters", run: showFilters },
  { keys: ["m"], title: "Markdown or plain text", run: () => byId("manner").click() },
  { keys: ["s"], title: "Side by side or stacked", run: () => byId("layout").click() },
  { keys: ["c"], title: "Copy the answer", run: () => copy(answerText(), "Answer") },
  { keys: ["l"], title: "Copy a link to the row", run: () => copy(rowLink(), "Link") },
  { keys: ["e"], title: "Only failed rows", run: toggleFailed },
  { keys: ["1"], title: "Vote: left is better", run: () => vote("left") },
  { keys: ["2"], title: "Vote: tie", run: () => vote("tie") },
  { keys: ["3"], title: "Vote: right is better", run: () => vote("right") },
  { keys: ["?"], title: "These keys", run: () => byId("help").showModal() },
];

/** Join the buttons to what they do. */
function connect() {
  let wait = 0;
  byId("search").addEventListener("input", (event) => {
    clearTimeout(wait);
    wait = setTimeout(() => change({ q: event.target.value }), 30);
  });
  byId("filterbutton").addEventListener("click", showFilters);
  byId("sort").addEventListener("change", (event) => change({ sort: event.target.value }));
  byId("direction").addEventListener("click", () => change({ down: !state.query.down }));
  byId("previous").addEventListener("click", () => step(-1));
  byId("next").addEventListener("click", () => step(1));
  byId("manner").addEventListener("click", () => setManner(state.manner === "markdown" ? "plain" : "markdown"));
  byId("layout").addEventListener("click", () => setLayout(!document.body.classList.contains("stacked")));
  byId("link").addEventListener("click", () => copy(rowLink(), "Link"));
  byId("back").addEventListener("click", closeRow);
  byId("jsonl").addEventListener("click", () => exportJsonl(state.store, state.rows));
  byId("csv").addEventListener("click", () => exportCsv(state.store, state.rows));
  byId("retry").addEventListener("click", () => exportRetry(state.store));
  byId("skip").addEventListener("click", () => byId("list").focus());
  for (const button of document.querySelectorAll("[data-status]")) {
    button.addEventListener("click", () => chooseStatus(button.dataset.status));
  }
  addEventListener("hashchange", readAddress);
  acceptFiles(takeFile);
  acceptPrinting(() => state);
  keepVotes();
  acceptKeys(KEYS);
  put(
    byId("help"),
    make("h2", { id: "helptitle" }, "Keys"),
    keyList(KEYS),
    make("form", { method: "dialog" }, make("button", {}, "Close")),
  );
  byId("helpbutton").addEventListener("click", () => byId("help").showModal());
}

function readAddress() {
  const { query, row } = parseHash(location.hash);
  if (row !== null && formatHash(query, null) === formatHash(state.query, null)) {
    state.line = row;
    return openLine(row);
  }
  state.query = query;
  if (row !== state.line || row !== null) Object.assign(state, { line: row, at: row === null ? state.at : -1 });
  byId("search").value = query.q;
  return update();
}

byId("old")?.remove(); // this script could be read; a copy that a browser saved has it no more
const startAddress = parseHash(location.hash);
Object.assign(state, { query: startAddress.query, line: startAddress.row });
byId("search").value = state.query.q;
onRefresh({ rows: update, votes: drawComparison });
drawOverview();
connect();
watchToolbar();
readBlocks();
