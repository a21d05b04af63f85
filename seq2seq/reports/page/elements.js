"use strict";
/* Elements are made of attributes and text, never of markup: a sentence can hold anything, such as a script. */

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child != null));
  return node;
}

const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

const fixed = (value, digits = 1) => (value == null ? "" : value.toFixed(digits));
const signed = (value, digits = 1) =>
  value == null ? "" : (Number(value.toFixed(digits)) < 0 ? "−" : "+") + Math.abs(value).toFixed(digits);
const whole = (value) => value.toLocaleString("en");
const short = (value) => {
  const size = Math.abs(value);
  if (size >= 100000) return value.toLocaleString("en", { notation: "compact", maximumFractionDigits: 1 });
  if (size >= 1000) return whole(Math.round(value));
  return size && size < 0.001 ? value.toExponential(1) : String(Number(value.toPrecision(3)));
};

/* How many Latin letters are as wide as a text: Chinese, Japanese and Korean letters are as wide as they are high. */
const WIDE = /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{Emoji_Presentation}\uff01-\uff60]/gu;
const widthOf = (text) => [...text].length + 0.6 * (text.match(WIDE) ?? []).length;

const code = (text) => el("code", null, text);
const hint = (...content) => el("p", { class: "quiet small" }, content);
const details = (summary, isOpen, ...content) => el("details", { open: isOpen }, el("summary", null, summary), content);

/* A table. A row is a list of cells: texts, elements, charts, or what `number` makes. Its first cell is its head. */
const number = (text) => ({ number: text });

function table(heads, rows, caption) {
  const cell = (tag, content, attributes) => {
    if (content instanceof SVGElement) return el(tag, { class: "chart" }, content);
    if (content?.number == null) return el(tag, attributes, content);
    return el(tag, { ...attributes, class: "number" }, content.number);
  };
  const line = ([first, ...rest]) =>
    el("tr", null, cell("th", first, { scope: "row" }), rest.map((content) => cell("td", content)));
  return el("div", { class: "scroll" }, caption ? hint(caption) : null, el("table", null,
    el("thead", null, el("tr", null, heads.map((head) => cell("th", head, { scope: "col" })))),
    el("tbody", null, rows.map(line))));
}

const facts = (pairs) =>
  el("dl", { class: "facts" }, pairs.map(([name, value, more]) =>
    el("div", null, el("dt", null, name), el("dd", null, value, more ? el("small", null, " ", more) : null))));

const choice = (name, label, options) =>
  el("label", null, label, el("select", { name }, options.map(([value, text]) => el("option", { value }, text))));

/* A box with a text, and how many items it stands for. */
const pill = (name, value, text, count, type = "checkbox") =>
  el("label", { class: "pill" }, el("input", { type, name, value, disabled: count === 0 }), text,
    count == null ? null : el("span", { class: "quiet" }, whole(count)));

/* The page: a heading, links to its sections, and those that have something to show. */
function layout(head, sections, foot) {
  const shown = sections.filter(([, , content]) => content.filter((part) => part != null).length);
  document.getElementById("page").replaceChildren(
    head,
    el("nav", { "aria-label": "Sections" }, shown.map(([id, title]) => el("a", { href: `#${id}` }, title))),
    ...shown.map(([id, title, content]) =>
      el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, title), content)),
    foot ? el("footer", null, foot) : "",
  );
}

/* A form over a list of items: those that the form lets through, in its order, a few at a time. */
function filtered(form, items, lets, order, card, page = 30) {
  const count = el("p", { class: "count", role: "status" });
  const list = el("div");
  const more = el("button", { type: "button", class: "more" });
  let found = items;
  let shown = 0;
  const show = (n) => {
    list.append(...found.slice(shown, n).map(card));
    shown = Math.min(n, found.length);
    more.hidden = shown === found.length;
    more.textContent = `Show ${whole(Math.min(page, found.length - shown))} more`;
  };
  const apply = () => {
    const chosen = new FormData(form);
    found = items.filter((item) => lets(item, chosen)).sort(order(chosen.get("order")));
    count.textContent = `${whole(found.length)} of ${whole(items.length)} sentences`;
    list.replaceChildren();
    shown = 0;
    show(page);
  };
  more.addEventListener("click", () => {
    const first = shown;
    show(shown + page);
    list.children[first].focus();
  });
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  apply();
  return [form, count, list, more];
}
