// Opening other files: an output.jsonl in full, or a second run to compare with. A file is read in slices, never whole.
import { FileBlock, fileBlocks, foreignBlocks } from "../data/blocks.js";
import { Store } from "../data/store.js";
import { breathe, byId, make, put } from "../kit/dom.js";
import { bytes } from "../kit/words.js";

/** Take files from a drop anywhere on the page and from the button; `take(file)` gets the first. */
export function acceptFiles(take) {
  const veil = byId("veil");
  let inside = 0;
  const over = (event) => [...(event.dataTransfer?.types || [])].includes("Files");
  addEventListener("dragenter", (event) => over(event) && (inside++, (veil.hidden = false)));
  addEventListener("dragleave", (event) => over(event) && --inside <= 0 && (veil.hidden = true));
  addEventListener("dragover", (event) => over(event) && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!over(event)) return;
    event.preventDefault();
    inside = 0;
    veil.hidden = true;
    if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
  });
  byId("file").addEventListener("change", (event) => {
    if (event.target.files[0]) take(event.target.files[0]);
    event.target.value = "";
  });
  byId("openfile").addEventListener("click", () => byId("file").click());
}

/** Whether a file is a page like this one. */
export const isPage = async (file) => /^\s*<!doctype html/i.test(await file.slice(0, 200).text());

/** Ask what to do with a file: "open", "compare" or "". */
export function askWhat(file, page) {
  const dialog = byId("ask");
  return new Promise((resolve) => {
    const answer = (value) =>
      make(
        "button",
        { type: "button", class: value === "compare" ? "primary" : "", onclick: () => dialog.close(value) },
        { open: "Open its rows here", compare: "Compare with it", "": "Cancel" }[value],
      );
    put(
      dialog,
      make("h2", { id: "asktitle" }, make("bdi", {}, file.name)),
      make("p", {}, `${bytes(file.size)}. `, page ? "An earlier run's page." : "Rows of a run."),
      make("div", { class: "buttons" }, answer("compare"), answer("open"), answer("")),
    );
    dialog.addEventListener("close", () => resolve(dialog.returnValue), { once: true });
    dialog.returnValue = "";
    dialog.showModal();
  });
}

/** Read a file into a new store, saying how far it is; null for a file with no rows. */
export async function readFile(file, summary, progress) {
  const store = new Store(summary);
  const blocks = (await isPage(file)) ? foreignBlocks(file) : fileBlocks(file);
  for await (const block of blocks) {
    store.counted = block instanceof FileBlock; // its lines are those of the output, not of the input
    await store.add(block);
    progress(store.size, block.to ? block.to / file.size : null);
    await breathe();
  }
  store.complete = true;
  return store.size ? store : null;
}
