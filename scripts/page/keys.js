// The keyboard: moving, searching, copying, voting, and `?` for the list of keys.

const KEYS = [
  [["j", "ArrowDown"], "Next row", "next"],
  [["k", "ArrowUp"], "Previous row", "previous"],
  [["PageDown"], "Ten rows on", "pageDown"],
  [["PageUp"], "Ten rows back", "pageUp"],
  [["Home"], "First row", "first"],
  [["End"], "Last row", "last"],
  [["/"], "Search", "search"],
  [["Escape"], "Close, or clear the search", "escape"],
  [["f"], "Filters", "filters"],
  [["m"], "Markdown or plain text", "manner"],
  [["s"], "Side by side or stacked", "layout"],
  [["c"], "Copy the answer", "copy"],
  [["l"], "Copy a link to the row", "link"],
  [["e"], "Only failed rows", "failed"],
  [["1"], "Vote: left is better", "voteLeft"],
  [["2"], "Vote: tie", "voteTie"],
  [["3"], "Vote: right is better", "voteRight"],
  [["?"], "These keys", "help"],
];
const LISTED_ONLY = new Set(["ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End"]); // the page scrolls with them elsewhere
const NAMES_OF_KEYS = { ArrowDown: "↓", ArrowUp: "↑", Escape: "Esc", PageDown: "Page ↓", PageUp: "Page ↑" };

/** Send keys to actions, but not while someone types. */
function acceptKeys(actions) {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (typing && event.key !== "Escape") return;
    if (document.querySelector("dialog[open]")) return;
    if (LISTED_ONLY.has(event.key) && document.activeElement !== $("list")) return;
    const found = KEYS.find(([keys]) => keys.includes(event.key));
    if (found && actions[found[2]]?.(event) !== false) event.preventDefault();
  });
  const help = $("help");
  put(
    help,
    el("h2", { id: "helptitle" }, "Keys"),
    el(
      "dl",
      { class: "keys" },
      KEYS.map(([keys, title]) =>
        el(
          "div",
          {},
          el(
            "dt",
            {},
            keys.map((key) => el("kbd", {}, NAMES_OF_KEYS[key] || key)),
          ),
          el("dd", {}, title),
        ),
      ),
    ),
    el("form", { method: "dialog" }, el("button", {}, "Close")),
  );
  $("helpbutton").addEventListener("click", () => help.showModal());
}
