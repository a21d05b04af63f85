/* Where a model looks: lines and matrices of its attention, for a sentence or for two side by side. */

const data = JSON.parse(document.getElementById("data").textContent);
const { sentences } = data;
const FORMS = [["lines", "lines"], ["matrix", "matrix"], ["heads", "all layers and heads"]];
const UNITS = [["words", "words"], ["pieces", "pieces"]];
const N_COLOURS = 8;
const LEAST_SEEN = 0.005; // smaller weights are not drawn
const EXPLAINED = {
  encoder: "Left: a source word, for which a layer makes a new vector. Right: the source words that it is made from.",
  decoder: "Left: the word that is written. Right: what was written before it, of which the decoder makes use.",
  cross: "Left: the word that is written. Right: the source words that the decoder looks at to write it.",
};
const JOINED = "A word is looked at as much as its pieces are together, and looks where they look on average.";

/* What is shown. The address of the page holds it, too, so that a link can. */
const state = Object.assign(
  { kind: "cross", layer: "", heads: MEAN, unit: "words", form: "lines", first: "0", second: "" },
  sentences.length === 2 ? { second: "1" } : {},
  Object.fromEntries(new URLSearchParams(location.hash.slice(1))),
);
let pinned = null; // a word: { panel, q, k }, q is a place on the left and k one on the right
let hovered = null;

const names = (axis) => axis[state.unit];
const shortened = (text, most) => (text.length > most ? `${[...text].slice(0, most - 1).join("")}…` : text);
const colour = (head) => (head === MEAN ? "head-mean" : `head-${head % N_COLOURS}`);
const label = (head) => (head === MEAN ? "mean of the heads" : `head ${head + 1}`);
const marked = (head, from, to, weight) =>
  ({ "data-head": label(head), "data-from": from, "data-to": to, "data-weight": weight.toFixed(3) });
const countTo = (n) => [...Array(n).keys()];
const chosenHeads = (view) =>
  state.heads.split(",").filter(Boolean).map((head) => (head === MEAN ? MEAN : Number(head) - 1))
    .filter((head) => head === MEAN || (head >= 0 && head < view.heads));
const viewOf = (index) => sentences[index].views[state.kind];
const layerOf = (view) => Math.min(Math.max(Number(state.layer || view.layers - 1), 1), view.layers) - 1;

const chosenGrid = (view, head) => grid(view, layerOf(view), head, state.unit);

/* The same word in another sentence, such as the second "the". */
function counterpart(word, from, to) {
  if (word == null) return null;
  const nth = from.slice(0, word).filter((each) => each === from[word]).length;
  const found = [...to.keys()].filter((i) => to[i] === from[word])[nth];
  return found ?? null;
}

/* The word that a panel shows: the one under the pointer, else the pinned one, or its like in the other sentence. */
function shownIn(index) {
  const word = hovered ?? pinned;
  if (!word || word.panel === index) return word ?? {};
  const [from, to] = [viewOf(word.panel), viewOf(index)];
  return {
    q: counterpart(word.q, names(from.queries), names(to.queries)),
    k: counterpart(word.k, names(from.keys), names(to.keys)),
  };
}

const hover = (word) => { hovered = word; updates.forEach((update) => update()); };
const isSame = (a, b) => a === b || (a && b && a.panel === b.panel && a.q === b.q && a.k === b.k);
const pin = (word) => { pinned = isSame(pinned, word) ? null : word; hover(null); };

/* Arrows choose another word while a drawing has the focus, and Escape none. */
function byKeys(index, view, hasCells) {
  return (event) => {
    const n = { q: names(view.queries).length, k: names(view.keys).length };
    const word = pinned?.panel === index ? pinned : {};
    const moved = (side, by) => ({ [side]: ((word[side] ?? (by > 0 ? -1 : 0)) + by + n[side]) % n[side] });
    const by = { ArrowUp: -1, ArrowDown: 1, ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const isSideways = event.key === "ArrowLeft" || event.key === "ArrowRight";
    const other = by > 0 ? "k" : "q";
    if (event.key === "Escape") pinned = null;
    else if (!by) return;
    else if (hasCells) pinned = { q: 0, ...word, panel: index, ...moved(isSideways ? "k" : "q", by) };
    else if (isSideways) pinned = { panel: index, [other]: Math.min(word.q ?? word.k ?? 0, n[other] - 1) };
    else pinned = { panel: index, ...moved(word.k == null ? "q" : "k", by) };
    event.preventDefault();
    hover(null);
  };
}

/* What the drawing shows of a word, in numbers. */
function readings(index, view) {
  const { q, k } = shownIn(index);
  if (q == null && k == null) return [hint("Point at a word, click to keep it, or walk with the arrow keys.")];
  const [queries, keys] = [names(view.queries), names(view.keys)];
  const line = (head) => {
    const values = chosenGrid(view, head);
    const at = (i, j) => values[i * keys.length + j];
    const all = q != null ? keys.map((text, j) => [text, at(q, j)]) : queries.map((text, i) => [text, at(i, k)]);
    const found = q != null && k != null ? [all[k]]
      : all.filter(([, weight]) => weight >= LEAST_SEEN).sort((a, b) => b[1] - a[1]).slice(0, 6);
    return el("li", { class: colour(head) },
      el("span", { class: "key" }), el("span", { class: "quiet" }, `${label(head)}: `),
      found.map(([text, weight], i) => [i ? ", " : "", el("bdi", null, text), ` ${weight.toFixed(2)}`]));
  };
  const quoted = (text) => ["“", el("bdi", null, text), "”"];
  const who = q != null ? [quoted(queries[q]), " looks at"] : [quoted(keys[k]), " is looked at by"];
  return [el("p", null, who), el("ul", { class: "plain" }, chosenHeads(view).map(line))];
}

const DRAW = { lines: drawLines, matrix: drawMatrices, heads: drawHeads };
const panels = el("div", { class: "panels" });
let updates = [];

function panel(index) {
  const sentence = sentences[index];
  const view = viewOf(index);
  const place = el("div");
  const reading = el("div", { role: "status", class: "reading small" });
  const texts = el("dl", { class: "texts" }, row("source", data.languages[0], sentence.source),
    row(sentence.is_given ? "given translation" : "its translation", data.languages[1], sentence.target));
  const notes = sentence.notes.map((note) => el("p", { class: "note small" }, note));
  const section = el("section", {
    class: "panel", "data-sentence": index + 1, "aria-label": `Sentence ${index + 1}`,
  }, texts, notes, place, state.form === "heads" ? null : reading);
  const draw = () => {
    const [drawing, update] = DRAW[state.form](index, view, Math.max(250, place.clientWidth || 600));
    place.replaceChildren(drawing);
    updates.push(() => { update(); reading.replaceChildren(...readings(index, view)); });
  };
  return [section, draw];
}

const controls = el("form", { "aria-label": "What is shown", onsubmit: (event) => event.preventDefault() });

/* The form, for the sentences and the kind that are shown: each kind can have its own number of layers and heads. */
function drawControls() {
  const view = viewOf(Number(state.first));
  const pills = (name, title, options, type = "radio") => {
    const boxes = options.map(([value, text]) => pill(name, value, text, null, type));
    const chosen = state[name].split(",");
    boxes.forEach((box) => { box.firstChild.checked = chosen.includes(box.firstChild.value); });
    return el("fieldset", { class: name }, el("legend", null, title), boxes);
  };
  const select = (name, title, options) => {
    const made = choice(name, title, options);
    made.lastChild.value = name === "layer" ? layerOf(view) + 1 : state[name];
    return made;
  };
  const listed = sentences.map(({ source }, i) => [i, `${i + 1}. ${shortened(source, 60)}`]);
  const heads = [...countTo(view.heads).map((head) => [head + 1, head + 1]), [MEAN, "mean"]];
  const focused = controls.querySelector(":focus");
  controls.replaceChildren(...[
    sentences.length > 1 ? select("first", "Sentence", listed) : null,
    sentences.length > 1 ? select("second", "Beside it", [["", "nothing"], ...listed]) : null,
    pills("kind", "Attention", data.kinds.map(({ name, title }) => [name, title])),
    select("layer", "Layer", countTo(view.layers).map((layer) => [layer + 1, layer + 1])),
    pills("heads", "Heads", heads, "checkbox"),
    pills("form", "Drawn as", FORMS),
    pills("unit", "Between", UNITS),
  ].filter(Boolean));
  controls.querySelectorAll(".heads .pill").forEach((box, head) =>
    box.append(el("span", { class: `key ${colour(head < view.heads ? head : MEAN)}` })));
  const isLike = ({ name, value }) => name === focused.name && value === focused.value;
  if (focused) [...controls.elements].find(isLike)?.focus();
}

function choose(changes) {
  Object.assign(state, changes);
  history.replaceState(null, "", `#${new URLSearchParams(state)}`);
  show();
}

controls.addEventListener("change", () => {
  const chosen = new FormData(controls);
  const found = Object.fromEntries([...chosen.entries()].filter(([name]) => name !== "heads"));
  // A place is one among the words or the pieces of a sentence, in one kind of attention.
  if (["kind", "unit", "first", "second"].some((name) => name in found && found[name] !== state[name])) pinned = null;
  choose({ ...found, heads: chosen.getAll("heads").join(",") });
});

const explained = el("p", { class: "quiet small" });

function show() {
  const last = sentences.length - 1;
  if (!(Number(state.first) >= 0 && Number(state.first) <= last)) state.first = "0";
  if (!(Number(state.second) >= 0 && Number(state.second) <= last) || state.second === state.first) state.second = "";
  const known = { kind: data.kinds.map(({ name }) => [name]), form: FORMS, unit: UNITS };
  for (const [name, values] of Object.entries(known)) {
    if (!values.some(([value]) => value === state[name])) state[name] = values[0][0];
  }
  drawControls();
  explained.textContent = `${EXPLAINED[state.kind]} ${state.unit === "words" ? JOINED : ""}`;
  updates = [];
  const drawn = [state.first, state.second].filter((index) => index !== "").map((index) => panel(Number(index)));
  panels.replaceChildren(...drawn.map(([section]) => section));
  drawn.forEach(([, draw]) => draw()); // when they have a width
  hover(null);
}

document.getElementById("page").replaceChildren(
  el("header", null, el("h1", null, data.heading), el("p", { class: "quiet" }, data.subtitle)),
  controls, explained, panels,
  el("footer", null, "The weights of each word on the left sum to 1. They are rounded to three decimal places. ",
    "Layer 1 is next to the embeddings."),
);
show();

let width = innerWidth;
addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; show(); } });
