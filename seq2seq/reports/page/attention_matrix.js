/* Matrices as in papers: one for each chosen head, or a small one for each head of each layer. */

/* A square for each pair of words. Returns the drawing, and a function that makes it show the word of the moment. */
function drawMatrices(index, view, width) {
  const drawn = chosenHeads(view).map((head) => drawMatrix(index, view, width, head));
  const drawings = drawn.map(([drawing]) => drawing);
  return [el("div", { class: "matrices" }, drawings), () => drawn.forEach(([, update]) => update())];
}

function drawMatrix(index, view, width, head) {
  const [queries, keys] = [names(view.queries), names(view.keys)];
  const most = 14; // letters of a label
  const margin = (texts) => Math.max(...texts.map((text) => widthOf(shortened(text, most)))) * 8 + 10;
  const [left, top] = [margin(queries), margin(keys)];
  const cell = Math.max(9, Math.min(26, Math.floor((width - left - 4) / keys.length)));
  const [w, h] = [left + cell * keys.length + 2, top + cell * queries.length + 2];

  const square = (weight, i) => {
    if (weight < LEAST_SEEN) return null;
    const [from, to] = [Math.floor(i / keys.length), i % keys.length];
    return svg("rect", {
      x: left + to * cell, y: top + from * cell, width: cell, height: cell, "fill-opacity": weight.toFixed(3),
      ...marked(head, from, to, weight),
    });
  };
  const rows = queries.map((text, i) => svg("text", {
    x: left - 6, y: top + (i + 0.5) * cell, "text-anchor": "end", "dominant-baseline": "central",
  }, shortened(text, most)));
  const columns = keys.map((text, i) => svg("text", {
    transform: `translate(${left + (i + 0.5) * cell} ${top - 6}) rotate(-90)`, "dominant-baseline": "central",
  }, shortened(text, most)));
  const frame = svg("rect", { class: "frame", visibility: "hidden" });
  const update = () => {
    const { q, k } = shownIn(index);
    fill(frame, {
      visibility: q == null && k == null ? "hidden" : "visible",
      x: left + (k ?? 0) * cell, y: top + (q ?? 0) * cell,
      width: k == null ? cell * keys.length : cell, height: q == null ? cell * queries.length : cell,
    }, []);
    rows.forEach((text, i) => text.classList.toggle("lit", i === q));
    columns.forEach((text, i) => text.classList.toggle("lit", i === k));
  };

  const under = (event) => {
    const box = drawing.getBoundingClientRect();
    const k = Math.floor(((event.clientX - box.left) * (w / box.width) - left) / cell);
    const q = Math.floor(((event.clientY - box.top) * (h / box.height) - top) / cell);
    const isInside = q >= 0 && q < queries.length && k < keys.length;
    return isInside ? { panel: index, q, k: k < 0 ? null : k } : null;
  };
  const drawing = svg("svg", {
    width: w, height: h, viewBox: `0 0 ${w} ${h}`, tabindex: 0, role: "img",
    "aria-label": `Matrix of ${label(head)}; the arrow keys choose a square`,
    onpointermove: (event) => { if (!isSame(under(event), hovered)) hover(under(event)); },
    onpointerleave: () => hover(null), onclick: (event) => pin(under(event)), onkeydown: byKeys(index, view, true),
  },
  svg("rect", { class: "ground", x: left, y: top, width: cell * keys.length, height: cell * queries.length }),
  Array.from(chosenGrid(view, head), square), rows, columns, frame);
  const scrolling = el("div", { class: "scroll" }, drawing);
  return [el("div", { class: `matrix ${colour(head)}` }, hint(label(head)), scrolling), update];
}

/* All heads at once. A click shows one large. */
function drawHeads(index, view) {
  const [nRows, nColumns] = [names(view.queries).length, names(view.keys).length];
  const [layers, heads] = [countTo(view.layers), countTo(view.heads)];
  const small = (layer, head) => {
    const name = `layer ${layer + 1}, ${label(head)}`;
    return el("button", {
      type: "button", title: name, "aria-label": name, "data-layer": layer, "data-head": head,
      onclick: () => choose({ layer: String(layer + 1), heads: String(head + 1), form: "lines" }),
    }, el("canvas", { width: nColumns, height: nRows }));
  };
  const drawing = el("div", { class: "scroll" }, el("table", { class: "overview" },
    el("thead", null, el("tr", null, el("td"), heads.map((head) => el("th", { scope: "col" }, label(head))))),
    el("tbody", null, layers.map((layer) => el("tr", null, el("th", { scope: "row" }, `layer ${layer + 1}`),
      heads.map((head) => el("td", null, small(layer, head))))))));
  const paint = (button) => {
    const context = button.firstChild.getContext("2d");
    context.fillStyle = getComputedStyle(button).color; // which it has when it stands in the page
    grid(view, Number(button.dataset.layer), Number(button.dataset.head), state.unit).forEach((weight, i) => {
      context.globalAlpha = weight;
      context.fillRect(i % nColumns, Math.floor(i / nColumns), 1, 1);
    });
  };
  let isPainted = false;
  return [drawing, () => {
    if (!isPainted) drawing.querySelectorAll("button").forEach(paint);
    isPainted = true;
  }];
}
