/* Two columns of words, and lines between them: the more one looks at another, the stronger. */

const [ROW, LEAST_LINE] = [24, 0.04]; // the height of a word, and the least weight that is drawn of all words

/* Returns the drawing, and a function that makes it show the word of the moment. */
function drawLines(index, view, width) {
  const grids = chosenHeads(view).map((head) => [head, chosenGrid(view, head)]);
  const [queries, keys] = [names(view.queries), names(view.keys)];
  const strip = Math.min(12, 48 / Math.max(grids.length, 1)); // the coloured squares of a head
  const margin = grids.length * strip + 4; // for the squares of a word, beside the lines
  const gap = Math.max(50 + margin, Math.min(width * 0.34, 260));
  const [left, right] = [(width - gap) / 2, (width + gap) / 2];
  const most = Math.max(3, Math.floor((left - 12) / 8.2));
  const height = Math.max(queries.length, keys.length) * ROW + 8;
  const y = (place) => place * ROW + ROW / 2 + 4;

  const column = (side, texts, x, anchor, from) => texts.map((text, i) =>
    svg("g", { class: "token", [`data-${side}`]: i },
      svg("rect", { x: from, y: y(i) - ROW / 2, width: left - 4, height: ROW, rx: 4 }),
      svg("title", null, text),
      svg("text", { x, y: y(i), "text-anchor": anchor, "dominant-baseline": "central" }, shortened(text, most))));
  const looking = column("q", queries, left - 8, "end", 0);
  const lookedAt = column("k", keys, right + 8, "start", right + 4);
  const lines = svg("g", { class: "lines" });

  const marksOf = ([head, values], n, { q, k }) => {
    const isOne = q != null || k != null;
    const shift = (n - (grids.length - 1) / 2) * Math.min(2.5, 14 / grids.length);
    return Array.from(values, (weight, i) => {
      const [from, to] = [Math.floor(i / keys.length), i % keys.length];
      const isShown = q != null ? from === q : k == null || to === k;
      if (!isShown || weight < (isOne ? LEAST_SEEN : LEAST_LINE)) return null;
      const line = svg("line", {
        class: colour(head), ...marked(head, from, to, weight), y1: y(from) + shift, y2: y(to) + shift,
        x1: left + (q == null && isOne ? margin : 0), x2: right - (q == null ? 0 : margin),
        "stroke-opacity": (isOne ? Math.sqrt(weight) : weight).toFixed(3),
      });
      if (!isOne) return line;
      const [x, place] = q != null ? [right - margin + 4 + n * strip, to] : [left + margin - 4 - (n + 1) * strip, from];
      return [line, svg("rect", {
        class: colour(head), x, y: y(place) - ROW / 2 + 2, width: strip, height: ROW - 4,
        "fill-opacity": weight.toFixed(3),
      })];
    });
  };
  const update = () => {
    const { q, k } = shownIn(index);
    lines.replaceChildren(...grids.flatMap((each, n) => marksOf(each, n, { q, k })).flat().filter(Boolean));
    looking.forEach((token, i) => token.classList.toggle("lit", i === q));
    lookedAt.forEach((token, i) => token.classList.toggle("lit", q == null && i === k));
  };

  const place = (text) => (text == null ? null : Number(text));
  const on = (act) => (event) => {
    const token = event.target.closest(".token");
    if (token) act({ panel: index, q: place(token.dataset.q), k: place(token.dataset.k) });
  };
  const drawing = svg("svg", {
    width, height, viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "img",
    "aria-label": "Lines from each word to those that it looks at; the arrow keys choose a word",
    onpointerover: on(hover), onpointerleave: () => hover(null), onclick: on(pin),
    onkeydown: byKeys(index, view, false),
  }, lines, looking, lookedAt);
  return [el("div", { class: "scroll" }, drawing), update];
}
