/* What differs between a run and the others. */

const data = JSON.parse(document.getElementById("data").textContent);
const [sourceLanguage, targetLanguage] = data.languages;

const better = (difference, text) =>
  el("span", { class: difference > 0 ? "better" : difference < 0 ? "worse" : "quiet" }, text);

function scores(pair) {
  const interval = ({ score, half_width: half }) => number(`${fixed(score, 2)} ± ${fixed(half, 2)}`);
  const cells = ({ name, a, b, difference, p_value: p, verdict }) => [
    METRICS[name] ?? name, interval(a), interval(b), number(signed(difference, 2)), number(fixed(p, 4)),
    better(verdict.startsWith("B") - verdict.startsWith("A"), verdict),
  ];
  return pair.tests.map(({ test, n_sentences: n, metrics }) => [
    el("h3", null, `${test}, ${whole(n)} sentences`),
    table(["metric", number("A"), number("B"), number("B − A"), number("p"), ""], metrics.map(cells),
      "Paired bootstrap (Koehn 2004), also over seeds if there are several; p is corrected for the number of comparisons. Higher is better, but for TER."),
    details("Signatures", false,
      metrics.map(({ name, signature }) => el("p", { class: "small" }, `${METRICS[name] ?? name} `, code(signature)))),
  ]);
}

const ORDERS = {
  worse: ["B lost most first", (a, b) => a.difference - b.difference],
  better: ["B gained most first", (a, b) => b.difference - a.difference],
  worst: ["worst in B first", (a, b) => a.chrf[1] - b.chrf[1]],
  file: ["as in the file", (a, b) => a.number - b.number],
};
const KINDS = { better: (d) => d > 0, worse: (d) => d < 0, equal: (d) => d === 0 };

function sentences(pair) {
  return perTest(pair.tests, ({ sentences: items }) => {
    for (const item of items) item.difference = Number((item.chrf[1] - item.chrf[0]).toFixed(2));
    const n = (kind) => items.filter((item) => KINDS[kind](item.difference)).length;
    const form = el("form", { "aria-label": "Which sentences" },
      commonFilters(items),
      choice("order", "Order", Object.entries(ORDERS).map(([name, [label]]) => [name, label])),
      el("fieldset", null, el("legend", null, "Only sentences that got"),
        Object.keys(KINDS).map((kind) => pill("kind", kind, kind, n(kind)))));
    return filtered(form, items,
      (item, chosen) => letsThrough(item, chosen)
        && (!chosen.has("kind") || chosen.getAll("kind").some((kind) => KINDS[kind](item.difference))),
      (name) => ORDERS[name][1], card);
  });
}

/* Of the words in which A and B differ, those that the nearest reference has are right. */
function card(item) {
  const [a, b] = item.texts;
  const references = nearestFirst(item.references.filter((text) => text.trim()), b);
  const { inA, inB } = common(tokens(a), tokens(b));
  const kind = (text, shared) => {
    const nearest = nearestFirst(references, text)[0] ?? "";
    const { inA: isRight } = common(tokens(text), tokens(nearest));
    return (i) => (shared[i] ? null : isRight[i] ? "right" : "wrong");
  };
  return el("article", { tabindex: -1, "data-number": item.number },
    el("header", null, el("span", null, `line ${item.number}`),
      el("b", null, better(item.difference, `chrF ${signed(item.difference)}`)),
      el("span", null, `${fixed(item.chrf[0])} → ${fixed(item.chrf[1])}`), about(item)),
    el("dl", { class: "texts" },
      item.source == null ? null : row("source", sourceLanguage, item.source),
      row("A", targetLanguage, coloured(a, kind(a, inA))),
      row("B", targetLanguage, coloured(b, kind(b, inB))),
      references.map((text, n) => row(n ? "or" : "reference", targetLanguage, text))));
}

function configuration(pair) {
  if (!pair.config.length) return [el("p", { class: "quiet" }, "Nothing but places and the like.")];
  return [table(["key", "A", "B"], pair.config.map(({ key, a, b }) => [key, code(a), code(b)]))];
}

const howToRead = () => hint(
  "Coloured words are those in which A and B differ: ", el("span", { class: "right" }, "bold"), " if the nearest ",
  "reference has them, ", el("span", { class: "wrong" }, "underlined"), " if not.");

function choosePair(chosen) {
  const select = choice("pair", "B is", data.pairs.map(({ b_name: name }, i) => [i, name]));
  select.lastChild.value = chosen;
  select.addEventListener("change", (event) => show(Number(event.target.value)));
  return select;
}

function show(which) {
  const pair = data.pairs[which];
  layout(
    el("header", null,
      el("h1", null, data.heading), el("p", { class: "quiet" }, data.subtitle),
      data.pairs.length > 1 ? el("form", null, choosePair(which)) : null,
      el("p", null, el("b", null, "A "), code(pair.a)),
      el("p", null, el("b", null, "B "), code(pair.b)),
      pair.notes.map((note) => el("p", { class: "note" }, note))),
    [
      ["scores", "Scores", scores(pair).flat()],
      ["configuration", "What differs in the configuration", configuration(pair)],
      ["sentences", "Sentences", [howToRead(), ...sentences(pair)]],
    ],
  );
}

show(0);
