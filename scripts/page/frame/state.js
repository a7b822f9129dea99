// The state of the page and the ways to change it. Drawing is others' business: `refresh` tells them.
import { emptyQuery, formatHash } from "../data/query.js";
import { Store } from "../data/store.js";
import { byId } from "../kit/dom.js";

export const page = JSON.parse(byId("data").textContent);
export const { summary, held, tally } = page;
export const state = {
  store: new Store(summary, page.system),
  query: emptyQuery(),
  rows: new Uint32Array(0),
  at: -1,
  line: null,
  manner: "markdown",
  comparison: null,
  points: null,
  asked: "", // the filter for which a row was opened last
  turn: 0,
};
const drawing = { rows: async () => {}, votes: () => {} };

/** Say how the screen is brought in line: `rows` after a change of query or store, `votes` after a vote. */
export const onRefresh = (how) => Object.assign(drawing, how);

/** Bring everything on screen in line with the state. */
export const refresh = () => drawing.rows();

/** Bring the panel of a comparison in line with its votes. */
export const refreshVotes = () => drawing.votes();

/** Change the query: `null` clears it, a `field` is added, `undefined` takes a part off. */
export function change(parts) {
  const query =
    parts === null ? { ...emptyQuery(), sort: state.query.sort, down: state.query.down } : { ...state.query, ...parts };
  if (parts?.field) query.fields = [...state.query.fields, ...[parts.field].flat()];
  delete query.field;
  for (const name of Object.keys(query)) if (query[name] === undefined) delete query[name];
  state.query = query;
  if (byId("search").value !== query.q) byId("search").value = query.q;
  return refresh();
}

/** Show only what a tile or a chart names. */
export function pick(choices, ranges = {}, fields = []) {
  const sets = Object.fromEntries(Object.entries(choices).map(([name, values]) => [name, new Set(values)]));
  return change({ ...sets, ...ranges, field: fields }).then(() => byId("reader").scrollIntoView());
}

export const wide = () => matchMedia("(min-width: 900px)").matches;

/** Keep filter and row in the address. */
export function remember() {
  const hash = formatHash(state.query, state.line);
  if (hash !== location.hash && !(hash === "#" && !location.hash)) history.replaceState(null, "", hash);
}
