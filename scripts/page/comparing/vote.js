// Votes between two answers: left, right or tie, by button or key, saved as JSONL.
import { make } from "../kit/dom.js";
import { save } from "../views/toast.js";

const VOTES = [
  ["left", "1", "Left is better"],
  ["tie", "2", "Tie"],
  ["right", "3", "Right is better"],
];

/** Three buttons; the vote that was given is pressed. */
export function voteBar(given, vote) {
  return make(
    "div",
    { class: "votes", role: "group", "aria-label": "Which answer is better?" },
    VOTES.map(([value, key, title]) =>
      make(
        "button",
        { type: "button", "aria-pressed": String(given === value), onclick: () => vote(value) },
        title,
        make("kbd", { "aria-hidden": "true" }, key),
      ),
    ),
  );
}

/** Save the votes, one line each. */
export function exportVotes(comparison) {
  const { left, right, pairs, votes, name } = comparison;
  const lines = [...votes]
    .sort((a, b) => left.line[a[0]] - left.line[b[0]])
    .map(
      ([at, vote]) =>
        JSON.stringify({
          line: left.line[at],
          id: left.ids[at] || null,
          vote,
          other: name,
          other_line: pairs[at] < 0 ? null : right.line[pairs[at]],
        }) + "\n",
    );
  save("votes.jsonl", "application/x-ndjson", lines);
}
