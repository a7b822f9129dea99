// Opening other files: an output.jsonl in full, or a second run to compare with. A file is read in slices, never whole.

/** Take files from a drop anywhere on the page and from the button; `take(file)` gets the first. */
function acceptFiles(take) {
  const veil = $("veil");
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
  $("file").addEventListener("change", (event) => {
    if (event.target.files[0]) take(event.target.files[0]);
    event.target.value = "";
  });
  $("openfile").addEventListener("click", () => $("file").click());
}

/** Whether a file is a page like this one. */
const isPage = async (file) => /^\s*<!doctype html/i.test(await file.slice(0, 200).text());

/** Ask what to do with a file: "open", "compare" or "". */
function askWhat(file, page) {
  const dialog = $("ask");
  return new Promise((resolve) => {
    const answer = (value) =>
      el(
        "button",
        { type: "button", class: value === "compare" ? "primary" : "", onclick: () => dialog.close(value) },
        { open: "Open its rows here", compare: "Compare with it", "": "Cancel" }[value],
      );
    put(
      dialog,
      el("h2", { id: "asktitle" }, el("bdi", {}, file.name)),
      el("p", {}, `${bytes(file.size)}. `, page ? "An earlier run's page." : "Rows of a run."),
      el("div", { class: "buttons" }, answer("compare"), answer("open"), answer("")),
    );
    dialog.addEventListener("close", () => resolve(dialog.returnValue), { once: true });
    dialog.returnValue = "";
    dialog.showModal();
  });
}

/** Read a file into a new store, saying how far it is; null for a file with no rows. */
async function readFile(file, summary, progress) {
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
