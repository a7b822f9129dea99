// Opening a row from the list, a link or a key, and how the pane shows it.
import { refreshVotes, remember, state } from "./state.js";
import { comparedBlock } from "../comparing/panel.js";
import { wordsOf } from "../data/query.js";
import { byId, make, put } from "../kit/dom.js";
import { count } from "../kit/words.js";
import { detailPane } from "../views/detail.js";
import { RowList } from "../views/list.js";

export const list = new RowList(
  byId("list"),
  () => ({
    store: state.store,
    rows: state.rows,
    at: state.at,
    words: wordsOf(state.query.q),
    kind: state.comparison && ((at) => state.comparison.kind(at)),
  }),
  openPosition,
);
export const positionOf = (at) => state.rows.indexOf(at);

export function openLine(line) {
  const at = state.store.find(line);
  if (at < 0) return;
  const position = positionOf(at);
  if (position < 0) return openRow(at);
  openRow(at).then(() => list.reveal(position, true));
}

export function openPosition(position, byHand) {
  if (position < 0 || position >= state.rows.length) return;
  if (byHand || state.line !== null) state.line = state.store.line[state.rows[position]];
  if (byHand) {
    document.body.classList.add("reading");
    list.reveal(position);
  }
  return openRow(state.rows[position]);
}

/** Show a row in the pane. */
export async function openRow(at) {
  state.at = at;
  const [view, other] = await Promise.all([
    state.store.view(at),
    state.comparison && state.comparison.pairs[at] >= 0
      ? state.comparison.right.view(state.comparison.pairs[at])
      : null,
  ]);
  if (state.at !== at) return;
  const compared = state.comparison && comparedBlock(state.comparison, at, view, other, vote);
  put(
    byId("body"),
    detailPane(state.store, view, at, {
      manner: state.manner,
      words: wordsOf(state.query.q),
      points: state.points,
      open: (row) => openPosition(positionOf(row), true),
      compared,
    }),
  );
  byId("body").scrollTop = 0;
  byId("title").textContent = `Line ${count(view.line)}`;
  put(
    byId("subtitle"),
    make("span", { class: `chip ${{ failed: "bad", missing: "bad" }[view.status] || "good"}` }, view.status),
    view.id ? make("bdi", { class: "muted" }, view.id) : null,
  );
  state.view = view;
  drawPlace();
  list.draw();
  remember();
}

export function drawPlace() {
  const position = positionOf(state.at);
  byId("place").textContent = position < 0 ? "" : `${count(position + 1)} of ${count(state.rows.length)}`;
}

export const step = (by) => openPosition(Math.max(0, Math.min(state.rows.length - 1, positionOf(state.at) + by)), true);

export function setManner(manner) {
  state.manner = manner;
  byId("manner").textContent = manner === "markdown" ? "Plain text" : "Markdown";
  if (state.at >= 0) openRow(state.at);
}

export function setLayout(stacked) {
  document.body.classList.toggle("stacked", stacked);
  byId("layout").textContent = stacked ? "Side by side" : "Stacked";
}

/** Show no row, since none is in the list. */
export function closeAll() {
  Object.assign(state, { at: -1, view: null });
  put(byId("body"));
  put(byId("subtitle"));
  byId("title").textContent = "No row chosen";
  drawPlace();
}

export function closeRow() {
  document.body.classList.remove("reading");
  byId("list").focus({ preventScroll: true });
}

export const rowLink = () => location.href.replace(/#.*$/, "") + `#row=${state.view?.line ?? ""}`;
export const answerText = () => (state.view?.answers || []).map((answer) => answer.text || "").join("\n\n");

/** Vote on the open row's two answers, and go on to the next. */
export function vote(value) {
  if (!state.comparison || state.at < 0) return false;
  state.comparison.vote(state.at, value);
  refreshVotes();
  const position = positionOf(state.at);
  return position + 1 < state.rows.length ? openPosition(position + 1, true) : openRow(state.at);
}
