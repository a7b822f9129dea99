// The few ways in which a page touches its document. Data goes in as text nodes and attributes; nothing is parsed as markup.

/** Find an element of the page by its id. */
export const byId = (id) => document.getElementById(id);

/** Make an element. `props` that start with "on" are listeners, the rest attributes; children may be nested, empty ones fall away. */
export function make(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** Make an SVG element. */
export function makeSvg(tag, props, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);
}

const OWN = ["checked", "disabled", "value"]; // what the element has now, where the attribute is what it began with

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props || {})) {
    if (isNone(value)) continue;
    if (name === "text") node.textContent = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (OWN.includes(name)) node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...some(children));
  return node;
}

const isNone = (value) => value === undefined || value === null || value === false;
const some = (children) => children.flat(Infinity).filter((child) => !isNone(child));

/** Put these children, and no others, into a node. */
export function put(node, ...children) {
  node.replaceChildren(...some(children));
}

/** Set text only where it differs, so that nothing is announced or selected anew for no reason. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Hand the user a file, made of strings and bytes. */
export function download(name, type, parts) {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = make("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Let the browser draw and answer keys, then go on. */
export const breathe = () => new Promise((resolve) => setTimeout(resolve, 0));
