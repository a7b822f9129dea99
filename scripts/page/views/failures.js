// The card of what failed: codes, the lines to submit again, and the commands for it.
import { bars } from "./charts.js";
import { copyButton } from "./toast.js";
import { tallyNames } from "../data/query.js";
import { make } from "../kit/dom.js";
import { asText } from "../kit/exact.js";
import { RULES } from "../kit/rules.js";
import { plural } from "../kit/words.js";
import { exportRetry } from "../taking/export.js";

/** A word for a POSIX shell. */
const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`);

/** Parameters a new submission has to say again: those that are not the template's defaults. */
function ownParameters(summary) {
  return Object.entries(summary.parameters || {})
    .filter(
      ([name, value]) => name in RULES.defaults && value !== "" && value !== null && String(value) !== String(RULES.defaults[name]),
    )
    .map(
      ([name, value]) =>
        `-p ${quoted(`${name}=${name.endsWith("File") ? asText(value).replace(/^.*[\\/]/, "") : asText(value)}`)}`,
    ); // a worker's folders mean nothing here
}

/** OutputDir as an argument: where this page lies in its output/, else a folder's name. Into the same one, the runs join. */
function outputFolder(path) {
  const found = decodeURIComponent(path)
    .replace(/^\/(?=[A-Za-z]:)/, "")
    .match(/^(.+)\/output\/[^/]+$/);
  return `-p ${quoted(`OutputDir=${found ? found[1] : "results"}`)}`;
}

/** The command that submits the saved retry.jsonl. */
function retryCommand(summary, rows) {
  return [
    "deadline bundle submit .",
    "-p InputFile=retry.jsonl",
    `-p Prompts=${rows === 1 ? "1" : `1-${rows}`}`,
    outputFolder(location.pathname),
    ...ownParameters(summary),
  ].join(" ");
}

/** The command that runs the failed lines of the same input again, or "" where their range is too long. */
function rerunCommand(summary) {
  if (!summary.rerun) return "";
  const input = (summary.input || {}).name || "input.jsonl";
  return [
    "deadline bundle submit .",
    `-p ${quoted(`InputFile=${input}`)}`,
    `-p ${quoted(`Prompts=${summary.rerun}`)}`,
    outputFolder(location.pathname),
    ...ownParameters(summary),
  ].join(" ");
}

/** What failed, and how to run it again. */
export function failures({ summary, held }, store, pick) {
  if (!held.failed) return [];
  const known = store.complete && held.failed_held === held.failed; // else the summary knows more than the page
  const codes = known
    ? tallyNames(store, "code").filter(([name]) => name)
    : Object.entries(summary.errors || {}).sort((a, b) => b[1] - a[1]);
  return [
    make(
      "section",
      { class: "card", "aria-label": "Failed rows" },
      make(
        "div",
        { class: "failhead" },
        make("h2", {}, plural(held.failed, "failed row")),
        make(
          "button",
          { type: "button", class: "primary", onclick: () => exportRetry(store) },
          "Save failed lines (retry.jsonl)",
        ),
      ),
      make(
        "div",
        { class: "failgrid" },
        make(
          "div",
          {},
          bars(codes.map(([name, value]) => ({ name, value, tone: "bad", pick: () => pick({ code: [name] }) }))),
        ),
        make(
          "div",
          {},
          commandLine("Submit the saved file", retryCommand(summary, held.failed)),
          commandLine("Or the same lines again", rerunCommand(summary)),
        ),
      ),
    ),
  ];
}

/** A command with its title and a button to copy it; nothing for an empty one. */
function commandLine(title, text) {
  if (!text) return null;
  const words = text.split(/ (?=-p )/).flatMap((part) => [make("span", { class: "word" }, part), " "]); // breaks between arguments only
  return make(
    "div",
    { class: "command" },
    make("span", {}, title),
    make("code", { dir: "ltr", tabindex: "0" }, words),
    copyButton("Copy command", "Command", text),
  );
}
