// The rows as a table of which only the visible part exists, so that 100,000 rows scroll like ten.
import { editCell } from "./cells.js";
import { wireDrag } from "./drag.js";
import { SAMPLED, SHOWN, cellText, faceOf, ownFields, parsedOf } from "./faces.js";
import { byId, make } from "../../../scripts/page/kit/dom.js";
import { checkOf } from "../frame/state.js";
import { fillTemplate } from "../rules/jinja.js";

const SPARE = 8; // rows made above and below the visible ones
export class Table {
  constructor(workspace, ui, act) {
    Object.assign(this, { workspace, ui, act, shown: [], columns: [], pool: new Map() });
    this.grid = byId("grid");
    this.body = byId("grid-body");
    this.grid.addEventListener("scroll", () => this.paint(), { passive: true });
    new ResizeObserver(() => this.paint()).observe(this.grid);
    this.body.addEventListener("click", (event) => this.click(event));
    this.body.addEventListener("dblclick", (event) => this.edit(event.target.closest("[data-edit]")));
    wireDrag(this);
  }

  /** Choose rows and columns anew, then draw. */
  update() {
    const { rows, settings } = this.workspace;
    const words = this.ui.find.trim().toLowerCase();
    this.shown = [];
    rows.forEach((row, i) => {
      if (words && !row.raw.toLowerCase().includes(words)) return;
      if (this.ui.onlyBad && checkOf(row, settings).ok) return;
      this.shown.push(i);
    });
    this.filtered = this.shown.length !== rows.length;
    this.columns = ownFields(rows);
    this.hasIds = rows.slice(0, SAMPLED).some((row) => faceOf(row).id !== "");
    this.hasOptions = rows.slice(0, SAMPLED).some((row) => faceOf(row).options !== "");
    this.drawHead();
    this.paint();
  }

  titles() {
    return [
      "",
      "Line",
      "Request",
      ...(this.hasIds ? ["Id"] : []),
      ...(this.hasOptions ? ["Options"] : []),
      ...this.columns,
    ];
  }

  drawHead() {
    const titles = this.titles();
    const widths = [
      "2.25rem",
      "4.75rem",
      "minmax(16rem, 1fr)",
      ...(this.hasIds ? ["8rem"] : []),
      ...(this.hasOptions ? ["13rem"] : []),
      ...this.columns.map(() => "9rem"),
    ];
    this.grid.style.setProperty("--columns", widths.join(" "));
    this.grid.setAttribute("aria-colcount", String(titles.length));
    this.grid.setAttribute("aria-rowcount", String(this.shown.length + 1));
    const key = JSON.stringify(titles);
    if (this.headKey === key) return;
    this.headKey = key;
    const all = make("input", {
      type: "checkbox",
      id: "all",
      "aria-label": "Select all rows shown",
      onchange: () => this.act.selectAll(all.checked),
    });
    byId("grid-head").replaceChildren(
      ...titles.map((title, i) =>
        make("div", { role: "columnheader", class: i < 3 ? `c${i}` : "extra" }, i === 0 ? [all] : [title]),
      ),
    );
  }

  /** Draw the rows that can be seen. */
  paint() {
    const height = this.rowHeight();
    setHeight(this.body, this.shown.length * height);
    const from = Math.max(0, Math.floor((this.grid.scrollTop - height) / height) - SPARE);
    const to = Math.min(this.shown.length, Math.ceil((this.grid.scrollTop + this.grid.clientHeight) / height) + SPARE);
    const keep = new Map();
    for (let at = from; at < to; at += 1) {
      const row = this.workspace.rows[this.shown[at]];
      if (!row) continue;
      const element = this.pool.get(row.id) ?? this.blank();
      this.pool.delete(row.id);
      keep.set(row.id, element);
      this.fill(element, row, at, height);
    }
    for (const element of this.pool.values()) element.remove();
    this.pool = keep;
    [...keep.values()].forEach((element, i) => {
      if (this.body.children[i] !== element) this.body.insertBefore(element, this.body.children[i]);
    });
    const active = keep.get(this.ui.active);
    if (active) this.grid.setAttribute("aria-activedescendant", active.id);
    else this.grid.removeAttribute("aria-activedescendant");
  }

  rowHeight() {
    return parseFloat(getComputedStyle(this.grid).getPropertyValue("--row-height")) || 40;
  }

  blank() {
    return this.body.appendChild(make("div", { role: "row", class: "row" }));
  }

  fill(element, row, at, height) {
    const index = this.shown[at];
    const check = checkOf(row, this.workspace.settings);
    const selected = this.ui.selection.has(row.id);
    element.style.transform = `translateY(${at * height}px)`;
    element.className = `row${row.id === this.ui.active ? " active" : ""}${check.ok ? "" : " bad"}${selected ? " selected" : ""}`;
    element.setAttribute("aria-selected", String(selected));
    const key = `${index}|${selected}|${this.headKey}|${this.workspace.settings.byTemplate ? this.workspace.settings.template : ""}`;
    if (element.row === row && element.key === key) return setIndex(element, at);
    Object.assign(element, { row, key, id: `r${row.id}` });
    element.dataset.id = row.id;
    setIndex(element, at);
    element.replaceChildren(...this.cells(row, index, check, selected));
  }

  cells(row, index, check, selected) {
    const face = faceOf(row);
    const box = make("input", {
      type: "checkbox",
      checked: selected,
      tabindex: "-1",
      "aria-label": `Select line ${index + 1}`,
    });
    const line = [
      make("span", { class: "grip", "aria-hidden": "true", text: "⠿" }),
      make("span", { text: String(index + 1) }),
    ];
    if (!check.ok)
      line.push(
        make("span", { class: "dot", title: check.message }, [make("span", { class: "sr", text: "has a problem" })]),
      );
    const request = [make("span", { class: "words", dir: "auto", text: this.words(row, face) || "(empty)" })];
    if (face.dialect !== "prompt") request.unshift(make("span", { class: "pill", text: face.kind }));
    if (face.images) request.push(make("span", { class: "pill", text: "image" }));
    const under = check.ok ? face.options : check.message;
    request.push(make("span", { class: "under", text: under }));
    const parsed = this.columns.length ? parsedOf(row) : null;
    return [
      make("div", { role: "gridcell", class: "c0" }, [box]),
      make("div", { role: "gridcell", class: "c1" }, line),
      make("div", { role: "gridcell", class: "c2", "data-edit": face.prompt }, request),
      ...(this.hasIds ? [this.extra(face.id, face.idPath)] : []),
      ...(this.hasOptions ? [this.extra(face.options)] : []),
      ...this.columns.map((key) =>
        this.extra(parsed && Object.hasOwn(parsed, key) ? cellText(parsed[key]) : "", parsed && JSON.stringify([key])),
      ),
    ];
  }

  words(row, face) {
    const { byTemplate, template } = this.workspace.settings;
    if (!byTemplate || face.dialect !== "prompt" || !template) return face.summary;
    return fillTemplate(template, row.raw).text.slice(0, SHOWN);
  }

  extra(text, path = null) {
    return make("div", {
      role: "gridcell",
      class: "extra",
      dir: "auto",
      text,
      title: text.length > 24 ? text : null,
      "data-edit": path,
    });
  }

  /** Edit a cell in its place. */
  edit(cell) {
    const element = cell?.closest(".row");
    if (!element) return;
    const { id, raw } = element.row;
    const path = JSON.parse(cell.dataset.edit);
    editCell(cell, {
      raw,
      path,
      label: `${path.at(-1)} of line ${this.workspace.indexOf(id) + 1}`,
      keep: (text) => this.workspace.edit(id, text),
      leave: () => {
        element.key = "";
        this.paint();
        this.grid.focus();
      },
    });
  }

  /** Edit the request of the active row in its place; false when it is more than one text. */
  editActive() {
    const cell = this.pool.get(this.ui.active)?.querySelector(".c2[data-edit]");
    this.edit(cell);
    return Boolean(cell);
  }

  click(event) {
    const element = event.target.closest(".row");
    if (!element) return;
    const id = Number(element.dataset.id);
    if (event.target.closest(".cell-input")) return;
    if (event.target.closest(".c0")) this.act.select(id, event.shiftKey);
    else this.act.press(id);
  }

  /** Bring a row into view. */
  reveal(id) {
    const at = this.shown.findIndex((index) => this.workspace.rows[index].id === id);
    if (at < 0) return;
    const [height, head] = [this.rowHeight(), this.body.offsetTop];
    const top = at * height;
    const room = this.grid.clientHeight - head;
    if (top < this.grid.scrollTop) this.grid.scrollTop = top;
    else if (top + height > this.grid.scrollTop + room) this.grid.scrollTop = top + height - room;
    this.paint();
  }

  /** Return the id of the row `by` places after the active one, among those shown. */
  neighbour(by) {
    const at = this.shown.findIndex((index) => this.workspace.rows[index].id === this.ui.active);
    const to = Math.max(0, Math.min(this.shown.length - 1, at < 0 ? 0 : at + by));
    return this.workspace.rows[this.shown[to]]?.id ?? null;
  }

  pageSize() {
    return Math.max(1, Math.floor(this.grid.clientHeight / this.rowHeight()) - 1);
  }
}

function setIndex(element, at) {
  element.setAttribute("aria-rowindex", String(at + 2));
}

function setHeight(element, height) {
  const text = `${height}px`;
  if (element.style.height !== text) element.style.height = text;
}
