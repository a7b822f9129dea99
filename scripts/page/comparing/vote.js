// Votes between two answers: left, right or tie, by button or key, saved as JSONL.
import { byId, make, put } from "../kit/dom.js";
import { plural } from "../kit/words.js";
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
  comparison.saved = true;
}

/** Whether a comparison may go: at once where all its votes are saved, else when a person says so. */
export async function mayDrop(comparison) {
  if (!comparison || comparison.saved) return true;
  const answer = await askAbout(comparison);
  if (answer === "save") exportVotes(comparison);
  return answer !== "";
}

function askAbout(comparison) {
  const dialog = byId("ask");
  const button = (value, text) =>
    make("button", { type: "button", class: value === "save" ? "primary" : "", onclick: () => dialog.close(value) }, text);
  return new Promise((resolve) => {
    put(
      dialog,
      make("h2", { id: "asktitle" }, `${plural(comparison.votes.size, "vote")} not saved`),
      make("p", {}, "They are gone when the comparison ends."),
      make("div", { class: "buttons" }, button("save", "Save them"), button("drop", "Let them go"), button("", "Cancel")),
    );
    dialog.addEventListener("close", () => resolve(dialog.returnValue), { once: true });
    dialog.returnValue = "";
    dialog.showModal();
  });
}
