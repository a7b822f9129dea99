// The card of what failed: codes, the lines to submit again, and the commands for it.
import { bars } from "./charts.js";
import { copyButton } from "./toast.js";
import { tallyNames } from "../data/query.js";
import { make, put } from "../kit/dom.js";
import { asText } from "../kit/exact.js";
import { RULES } from "../kit/rules.js";
import { plural } from "../kit/words.js";
import { exportRetry } from "../taking/export.js";

/** A word for a POSIX shell. */
const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`);

/** Parameters a new submission has to say again: those that are not the template's defaults. A farm's folders mean nothing here. */
function ownParameters(summary, isLocal) {
  return Object.entries(summary.parameters || {})
    .filter(
      ([name, value]) => name in RULES.defaults && value !== "" && value !== null && String(value) !== String(RULES.defaults[name]),
    )
    .map(([name, value]) => {
      const isElsewhere = name.endsWith("File") && !isLocal;
      return `-p ${quoted(`${name}=${isElsewhere ? asText(value).replace(/^.*[\\/]/, "") : asText(value)}`)}`;
    });
}

/** OutputDir: where this page lies in its output/, else a folder's name. Into the same one, the runs join. */
function outputFolder(path) {
  const found = decodeURIComponent(path)
    .replace(/^\/(?=[A-Za-z]:)/, "")
    .match(/^(.+)\/output\/[^/]+$/);
  return found ? found[1] : "results";
}

/** Whether the job ran on one machine: workers of a farm have ids of their own, and a farm may have several. */
export const ranLocally = (workers) => workers.length === 1 && !/^worker-[0-9a-f]{32}$/.test(workers[0]);

/** The command that asks lines of a file again, as the job was run. */
function command(summary, isLocal, input, prompts) {
  const folder = outputFolder(location.pathname);
  const given = isLocal
    ? [
        "python3 tools/run_local.py",
        `--input ${quoted(input)}`,
        `--prompts ${quoted(prompts)}`,
        `--output-dir ${quoted(folder)}`,
      ]
    : [
        "deadline bundle submit .",
        `-p ${quoted(`InputFile=${input}`)}`,
        `-p ${quoted(`Prompts=${prompts}`)}`,
        `-p ${quoted(`OutputDir=${folder}`)}`,
      ];
  return [...given, ...ownParameters(summary, isLocal)].join(" ");
}

/** The command for the saved retry.jsonl. */
const retryCommand = (summary, isLocal, rows) => command(summary, isLocal, "retry.jsonl", rows === 1 ? "1" : `1-${rows}`);

/** The command that runs the failed lines of the same input again, or "" where their range is too long. */
const rerunCommand = (summary, isLocal) =>
  summary.rerun ? command(summary, isLocal, (summary.input || {}).name || "input.jsonl", summary.rerun) : "";

/** What went wrong most often, in the row's whole words, and what to do about it. */
function cause(store, code) {
  const body = make("div", { class: "cause" });
  const at = store.first("code", code);
  if (at >= 0)
    store.view(at).then(({ error }) =>
      put(
        body,
        make("p", { dir: "auto" }, make("code", {}, code), " ", error?.message),
        RULES.mend[code] ? make("p", {}, make("b", {}, "What to do: "), RULES.mend[code]) : null,
      ),
    );
  return body;
}

/** What failed, and how to run it again once the job has ended: until then a line without a result has not failed. */
export function failures({ summary, held }, store, pick) {
  const waiting = summary.unfinished ? summary.missing || 0 : 0;
  const failed = held.failed - waiting;
  if (failed <= 0) return [];
  const known = store.complete && held.failed_held === held.failed; // else the summary knows more than the page
  const all = known
    ? tallyNames(store, "code").filter(([name]) => name)
    : Object.entries(summary.errors || {}).sort((a, b) => b[1] - a[1]);
  const codes = all.filter(([name]) => !(waiting && name === "missing"));
  const isLocal = ranLocally(tallyNames(store, "worker").map(([name]) => name).filter(Boolean));
  return [
    make(
      "section",
      { class: "card", "aria-label": "Failed rows" },
      make(
        "div",
        { class: "failhead" },
        make("h2", {}, plural(failed, "failed row")),
        summary.unfinished
          ? null
          : make(
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
          codes.length ? cause(store, codes[0][0]) : null,
        ),
        summary.unfinished
          ? null
          : make(
              "div",
              {},
              commandLine("Submit the saved file", retryCommand(summary, isLocal, failed)),
              commandLine("Or the same lines again", rerunCommand(summary, isLocal)),
            ),
      ),
    ),
  ];
}

/** A command with its title and a button to copy it; nothing for an empty one. */
function commandLine(title, text) {
  if (!text) return null;
  const words = text.split(/ (?=--?[a-z])/).flatMap((part) => [make("span", { class: "word" }, part), " "]); // breaks between arguments only
  return make(
    "div",
    { class: "command" },
    make("span", {}, title),
    make("code", { dir: "ltr", tabindex: "0" }, words),
    copyButton("Copy command", "Command", text),
  );
}
