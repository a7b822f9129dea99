// Rows are moved by dragging their line number; near the table's edges it scrolls along.
import { make } from "../../../scripts/page/kit/dom.js";

const STILL = 6; // pixels within which a press is a press and no drag

/** Let the rows of a table be dragged: one row, or all selected rows with it. */
export function wireDrag(table) {
  table.body.addEventListener("pointerdown", (event) => {
    const grip = event.target.closest(".c1");
    if (grip && event.button === 0 && !table.filtered)
      follow(table, Number(grip.closest(".row").dataset.id), event.clientY);
  });
}

function follow(table, id, from) {
  const mark = table.grid.appendChild(make("div", { class: "drop-line", role: "presentation", hidden: true }));
  let target = null;
  const move = ({ clientY }) => {
    if (target === null && Math.abs(clientY - from) < STILL) return;
    scrollAlong(table, clientY);
    target = spotAt(table, clientY);
    mark.hidden = false;
    mark.style.transform = `translateY(${target * table.rowHeight() + table.body.offsetTop}px)`;
  };
  const done = (event) => {
    for (const name of ["pointermove", "pointerup", "pointercancel"])
      removeEventListener(name, name === "pointermove" ? move : done);
    mark.remove();
    if (target !== null && event.type === "pointerup") table.act.drop(id, target);
  };
  addEventListener("pointermove", move);
  addEventListener("pointerup", done);
  addEventListener("pointercancel", done);
}

function scrollAlong(table, y) {
  const edge = table.grid.getBoundingClientRect();
  if (y < edge.top + 60) table.grid.scrollTop -= table.rowHeight();
  else if (y > edge.bottom - 30) table.grid.scrollTop += table.rowHeight();
}

function spotAt(table, y) {
  const at = (y - table.body.getBoundingClientRect().top) / table.rowHeight();
  return Math.max(0, Math.min(table.shown.length, Math.round(at)));
}
