// Shows the batches as the server tells them, again and again; whatever it tells becomes text and nothing else.
"use strict";

const PAUSE = 2000; // milliseconds between two looks
const NAMES = { openai: "OpenAI", anthropic: "Anthropic", runpod: "RunPod" };
const rows = new Map(); // of the list, by batch
let older = 0; // pages of older batches that are shown

const find = (id) => document.getElementById(id);
const say = (count, one, more) => `${count.toLocaleString("en")} ${count === 1 ? one : more}`;

function show(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function describe(batch) {
  const done = batch.succeeded + batch.failed;
  const told = [`${done.toLocaleString("en")} of ${say(batch.total, "line", "lines")} done`];
  if (batch.failed) told.push(`${batch.failed.toLocaleString("en")} failed`);
  if (batch.dollars !== null) told.push(`$${batch.dollars.toFixed(batch.dollars < 1 ? 4 : 2)}`);
  return told.join(", ");
}

function about(batch) {
  const began = new Date(batch.created * 1000).toLocaleString();
  return [NAMES[batch.api] || batch.api, batch.model, began].filter(Boolean).join(" · ");
}

function makeRow(batch) {
  const row = find("row").content.firstElementChild.cloneNode(true);
  row.querySelector(".cancel").addEventListener("click", () => ask(batch.id));
  row.querySelector(".open").href = `/batches/${encodeURIComponent(batch.id)}/results.html`;
  row.querySelector("progress").setAttribute("aria-label", `Progress of ${batch.id}`);
  row.querySelector(".cancel").setAttribute("aria-label", `Cancel ${batch.id}`);
  row.querySelector(".open").setAttribute("aria-label", `Results of ${batch.id}`);
  show(row.querySelector(".id"), batch.id);
  return row;
}

function update(row, batch) {
  const state = row.querySelector(".state");
  state.dataset.state = batch.state;
  show(state, batch.state);
  show(row.querySelector(".about"), about(batch));
  show(row.querySelector(".counts"), describe(batch));
  show(row.querySelector(".wrong"), batch.wrong);
  row.querySelector(".wrong").hidden = !batch.wrong;
  row.querySelector(".open").hidden = !batch.has_page;
  row.querySelector(".cancel").hidden = !batch.can_cancel;
  row.querySelector("progress").value = batch.total ? (batch.succeeded + batch.failed) / batch.total : 0;
}

function showAll(batches) {
  const list = find("batches");
  const seen = new Set(batches.map((batch) => batch.id));
  for (const [id, row] of rows) {
    if (!seen.has(id)) {
      row.remove();
      rows.delete(id);
    }
  }
  batches.forEach((batch, place) => {
    const row = rows.get(batch.id) || makeRow(batch);
    rows.set(batch.id, row);
    if (list.children[place] !== row) list.insertBefore(row, list.children[place] || null);
    update(row, batch);
  });
}

async function fetchAll() {
  const found = { batches: [], waiting: [], has_more: false };
  let after = "";
  for (let page = 0; page <= older; page += 1) {
    const answer = await fetch(`/page/batches?after=${encodeURIComponent(after)}`);
    if (!answer.ok) throw new Error(String(answer.status));
    const told = await answer.json();
    found.batches.push(...told.batches);
    Object.assign(found, { waiting: told.waiting, has_more: told.has_more });
    if (!told.has_more) break;
    after = told.batches[told.batches.length - 1].id;
  }
  return found;
}

async function look() {
  try {
    const found = await fetchAll();
    showAll(found.batches);
    const calls = found.waiting.reduce((sum, queue) => sum + queue.calls, 0);
    find("waiting").hidden = !calls;
    show(find("waiting"), `${say(calls, "single call waits", "single calls wait")} to be gathered into a job.`);
    find("none").hidden = Boolean(found.batches.length || calls);
    find("older").hidden = !found.has_more;
    find("trouble").hidden = true;
  } catch {
    find("trouble").hidden = false;
  }
  document.documentElement.dataset.ready = "yes";
}

function ask(id) {
  show(find("askid"), id);
  find("ask").returnValue = "no";
  find("ask").showModal();
}

async function cancel(id) {
  const path = `/page/batches/${encodeURIComponent(id)}/cancel`;
  await fetch(path, { method: "POST", headers: { "X-Batch-Page": "1" } }).catch(() => null);
  await look();
}

async function goOn() {
  if (!document.hidden) await look();
  setTimeout(goOn, PAUSE);
}

find("ask").addEventListener("close", () => {
  if (find("ask").returnValue === "yes") cancel(find("askid").textContent);
});
find("older").addEventListener("click", () => {
  older += 1;
  look();
});
goOn();
