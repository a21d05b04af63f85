/* The report of one run. */

const data = JSON.parse(document.getElementById("data").textContent);
const [sourceLanguage, targetLanguage] = data.languages;

function scores() {
  const heads = ["metric", number("score"), number("95% interval"), "signature"];
  const cells = ({ name, score, half_width, signature }) =>
    [METRICS[name] ?? name, number(fixed(score, 2)), number(`± ${fixed(half_width, 2)}`), code(signature)];
  return [
    data.scores.map((each) => [
      el("h3", null, each.test),
      table(heads, each.metrics.map(cells), "Higher is better, but for TER."),
      each.augmentations.length ? augmentations(each) : null,
    ]),
    data.selection ? candidates(data.selection) : null,
  ].flat(Infinity);
}

function augmentations({ test, augmentations: rows, metrics }) {
  const overall = metrics.find((metric) => metric.name === "bleu");
  const scale = reach([...rows, overall]);
  const cells = (row) => [
    row.name + (row.ignores_case ? ", case ignored" : ""),
    number(fixed(row.score, 2)), number(signed(row.change, 2)), interval(row, scale, 0, overall.score),
  ];
  return [
    el("h3", null, `${test} with augmentation`),
    table(["augmentation", number("BLEU"), number("change"), "95% interval"], rows.map(cells),
      "The same sentences as people write them. The dashed line is the score of the clean text."),
  ];
}

function candidates({ selected, valid, monitor }) {
  const decisive = monitor in METRICS ? [] : [monitor];
  const cells = ([name, scores]) => [
    name, number(fixed(scores.bleu, 2)), number(fixed(scores.chrf, 2)),
    ...decisive.map((metric) => number(fixed(scores[metric], 4))), name === selected ? "chosen" : "",
  ];
  return [
    el("h3", null, "Which weights won on valid"),
    table(["weights", number("BLEU"), number("chrF"), ...decisive.map(number), ""], Object.entries(valid).map(cells)),
  ];
}

const MEANING = {
  "source length": "Words of the source.",
  "rarest word": "How often the rarest word of the source is in the training text.",
  "source in train": "Whether the very same source is in the training text.",
};

function slices({ test, slices: tables }, name) {
  const rows = tables[name];
  const overall = (metric) =>
    data.scores.find((each) => each.test === test)?.metrics.find((each) => each.name === metric)?.score;
  /* The cells of a metric: its score as a number and as a chart. */
  const cells = (metric, colour) => {
    const of = (slice) => ({ score: slice[metric], half_width: slice[`${metric}_half_width`] ?? undefined });
    const scale = reach([...rows.map(of), { score: overall(metric) }]);
    return (slice) => {
      const { score, half_width: half } = of(slice);
      return [number(fixed(score) + (half == null ? "" : ` ± ${fixed(half)}`)),
        interval(of(slice), scale, colour, overall(metric))];
    };
  };
  const [bleu, chrf] = [cells("bleu", 0), cells("chrf", 2)];
  return [
    el("h3", null, `By ${name}`),
    table([name, number("sentences"), number("BLEU"), "", number("chrF"), ""],
      rows.map((slice) => [slice.name, number(whole(slice.n_sentences)), ...bleu(slice), ...chrf(slice)]),
      MEANING[name]),
  ];
}

function weaknesses() {
  const names = ({ slices: tables }) => data.slice_names.filter((name) => tables[name]?.length);
  return perTest(data.analyses.filter((analysis) => names(analysis).length), (analysis) => [
    names(analysis).map((name) => slices(analysis, name)),
    hint("Dots are scores, bars 95% intervals, and the dashed line is the score of all sentences."),
  ]);
}

const ORDERS = {
  worst: ["worst chrF first", (a, b) => a.chrf - b.chrf],
  best: ["best chrF first", (a, b) => b.chrf - a.chrf],
  longest: ["longest first", (a, b) => b.length - a.length],
  file: ["as in the file", (a, b) => a.number - b.number],
};

function sentences() {
  return perTest(data.analyses, (analysis) => {
    const items = analysis.sentences.map((each) => ({ findings: {}, ...each, texts: [each.hypothesis] }));
    const kinds = Object.keys(data.findings).filter((kind) => analysis.findings[kind] != null);
    const finding = (kind) =>
      fill(pill("finding", kind, kind, analysis.findings[kind]), { title: data.findings[kind] }, []);
    const form = el("form", { "aria-label": "Which sentences" },
      commonFilters(items),
      choice("order", "Order", Object.entries(ORDERS).map(([name, [label]]) => [name, label])),
      kinds.length ? el("fieldset", null, el("legend", null, "Only sentences with"), kinds.map(finding)) : null);
    const lets = (item, chosen) =>
      letsThrough(item, chosen) && chosen.getAll("finding").every((kind) => item.findings[kind] != null);
    return [analysis.notes.map((note) => hint(note)), filtered(form, items, lets, (name) => ORDERS[name][1], card)];
  });
}

function card(item) {
  const references = nearestFirst(item.references.filter((text) => text.trim()), item.hypothesis);
  const { inA, inB } = common(tokens(item.hypothesis), tokens(references[0] ?? ""));
  const reference = (text, n) =>
    n ? row("or", targetLanguage, text)
      : row("reference", targetLanguage, coloured(text, (i) => (inB[i] ? null : "missing")));
  const finding = ([kind, words]) =>
    el("span", { class: "worse", title: data.findings[kind] }, words.length ? `${kind}: ${words.join(", ")}` : kind);
  const article = el("article", { tabindex: item.alignment ? 0 : -1, "data-number": item.number },
    el("header", null,
      el("span", null, `line ${item.number}`), el("b", null, `chrF ${fixed(item.chrf)}`), about(item),
      Object.entries(item.findings).map(finding)),
    el("dl", { class: "texts" },
      item.source == null ? null : row("source", sourceLanguage, plain(item.source, "s")),
      row("translation", targetLanguage, coloured(item.hypothesis, (i) => (inA[i] ? null : "extra"), "t")),
      references.map(reference)));
  if (item.alignment) showAlignment(article, item.alignment);
  return article;
}

function attention() {
  const shown = (map, n) => details(`Line ${map.number}, the ${map.chosen_as} by chrF`, n === 0, heatMap(map));
  return perTest(data.analyses.filter(({ attention: maps }) => maps.length), ({ attention: maps }) => maps.map(shown));
}

const howToRead = () => hint(
  "In a translation, ", el("span", { class: "extra" }, "underlined words"), " are not in the nearest reference. In a ",
  "reference, ", el("span", { class: "missing" }, "dotted words"), " are not in the translation. Point at a word to ",
  "see what it was translated from, or move through a sentence with the arrow keys.");

layout(
  el("header", null,
    el("h1", null, data.heading), el("p", { class: "quiet" }, data.subtitle),
    data.notes.map((note) => el("p", { class: "note" }, note)), facts(data.facts)),
  [
    ["scores", "Scores", scores()],
    ["curves", "How it learned", curves()],
    ["weaknesses", "Where it is weak", weaknesses()],
    ["sentences", "Sentences", data.analyses.length ? [howToRead(), ...sentences()] : []],
    ["attention", "Attention", attention()],
    ["text", "Data", data.report ? [el("pre", null, data.report)] : []],
    ["configuration", "Configuration", configuration()],
    ["machine", "Machine and time", data.machine.length ? [table(["", ""], data.machine)] : []],
  ],
  data.footer,
);
