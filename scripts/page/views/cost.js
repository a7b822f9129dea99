// What the answers cost, for the overview: tiles of a few words, and facts that tell all of it.
import { count, duration, money, plural } from "../kit/words.js";

const PARTS = { load: "loading the model", answering: "answering", idle: "idle" };
const LOST = { not_shown: "answers that are not shown", failed: "rows that failed", loads_again: "loads after a server had died" };

/** The parts of a time that are not nothing: "3 min loading the model, 40 min answering". */
function told(figures, names) {
  return Object.entries(names)
    .map(([name, words]) => [figures[`${name}_seconds`], words])
    .filter(([seconds]) => seconds >= 0.05)
    .map(([seconds, words]) => `${duration(seconds)} ${words}`)
    .join(", ");
}

/** Tiles: [name, value, hint]. */
export function costTiles({ cost }) {
  if (!cost || !(cost.worker_seconds + cost.in_vain_seconds > 0)) return [];
  const tiles = [["Worker time", duration(cost.worker_seconds), `Of these answers: ${told(cost, PARTS)}`]];
  if (cost.dollars !== null) tiles.push(["Cost", money(cost.dollars), `Worker time at ${money(cost.price_per_hour)} an hour`]);
  if (cost.dollars_per_million_tokens !== null)
    tiles.push(["Per million tokens", money(cost.dollars_per_million_tokens), "In and out, of these answers"]);
  if (cost.in_vain_seconds >= 1)
    tiles.push([
      "In vain",
      cost.dollars_in_vain === null ? duration(cost.in_vain_seconds) : money(cost.dollars_in_vain),
      `Paid besides: ${told(cost.in_vain, LOST)}`,
    ]);
  return tiles;
}

/** Facts: [name, text]. */
export function costFacts({ cost }) {
  if (!cost) return [];
  const { service } = cost;
  const untold = cost.untold_sessions ? `, the model loads of ${count(cost.untold_sessions)} not known` : "";
  return [
    ["Worker time", `${told(cost, PARTS)} (${plural(cost.sessions, "session")}${untold})`],
    ["Paid in vain", told(cost.in_vain, LOST)],
    ["A worker's hour", cost.price_per_hour === null ? "" : money(cost.price_per_hour)],
    [
      "The service counted",
      service ? [duration(service.runtime_seconds), ...(service.dollars === null ? [] : [money(service.dollars)])].join(", ") : "",
    ],
  ];
}
