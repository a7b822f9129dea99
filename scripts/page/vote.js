// Votes between two answers: left, right or tie, by button or key, saved as JSONL.

const VOTES = [
  ["left", "1", "Left is better"],
  ["tie", "2", "Tie"],
  ["right", "3", "Right is better"],
];

/** Three buttons; the vote that was given is pressed. */
function voteBar(given, vote) {
  return el(
    "div",
    { class: "votes", role: "group", "aria-label": "Which answer is better?" },
    VOTES.map(([value, key, title]) =>
      el(
        "button",
        { type: "button", "aria-pressed": String(given === value), onclick: () => vote(value) },
        title,
        el("kbd", { "aria-hidden": "true" }, key),
      ),
    ),
  );
}

/** Save the votes, one line each. */
function exportVotes(comparison) {
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
  download("votes.jsonl", "application/x-ndjson", lines);
}
