/* The report of a classifier. */

const data = JSON.parse(document.getElementById("data").textContent);

const share = ([score, half]) => number(`${fixed(score, 3)} ± ${fixed(half, 3)}`);
const sum = (values) => values.reduce((a, b) => a + b, 0);

function scores() {
  return [
    data.tests.map(({ test, labels, scores: found, confusion }) => [
      el("h3", null, test),
      hint(`Accuracy ${fixed(found.accuracy[0], 3)} ± ${fixed(found.accuracy[1], 3)}, macro F1 `,
        `${fixed(found.macro_f1[0], 3)} ± ${fixed(found.macro_f1[1], 3)}, with 95% intervals.`),
      table(["label", number("sentences"), number("precision"), number("recall"), number("F1")],
        labels.map((label, i) => [label, number(whole(sum(confusion[i]))),
          ...["precision", "recall", "f1"].map((name) => share(found[`${name}/${label}`]))])),
    ]),
    data.selection ? candidates(data.selection) : null,
  ].flat(Infinity);
}

function candidates({ selected, valid }) {
  const cells = ([name, found]) => [name, number(fixed(found.accuracy, 3)), number(fixed(found.macro_f1, 3)),
    name === selected ? "chosen" : ""];
  return [
    el("h3", null, "Which weights won on valid"),
    table(["weights", number("accuracy"), number("macro F1"), ""], Object.entries(valid).map(cells)),
  ];
}

/* Rows are the true labels, columns what the classifier said; the darker, the larger the share of the row. */
function matrix({ test, labels, confusion }) {
  const size = 54;
  const room = (words) => Math.max(...words.map((word) => word.length)) * 7 + 14;
  const [left, top] = [room(labels), room(labels)];
  const cell = (row, j) => (count, i) => {
    const part = count / (sum(row) || 1);
    return [
      svg("rect", { x: left + i * size, y: top + j * size, width: size - 2, height: size - 2,
        "fill-opacity": Math.max(0.04, part * 0.8) },
        svg("title", null, `${labels[j]} taken for ${labels[i]}: ${whole(count)} of ${whole(sum(row))}`)),
      svg("text", { x: left + (i + 0.48) * size, y: top + (j + 0.56) * size, "text-anchor": "middle" }, whole(count)),
    ];
  };
  const above = (word, i) =>
    svg("text", { transform: `translate(${left + (i + 0.56) * size} ${top - 6}) rotate(-90)` }, word);
  const beside = (word, j) => svg("text", { x: left - 8, y: top + (j + 0.56) * size, "text-anchor": "end" }, word);
  return [
    el("h3", null, test),
    el("div", { class: "heat" }, svg("svg",
      { width: left + labels.length * size + 10, height: top + labels.length * size + 6, role: "img",
        "aria-label": `Confusion matrix of ${test}` },
      labels.map(above), labels.map(beside), confusion.map((row, j) => row.map(cell(row, j))))),
  ];
}

function mistakes({ test, mistakes: rows, n_mistakes: n }) {
  if (!rows.length) return [];
  const cells = ([line, text, label, prediction]) => [whole(line), text, label, prediction];
  return [
    el("h3", null, `${test}: ${whole(n)}`),
    table(["line", "text", "label", "prediction"], rows.slice(0, 30).map(cells)),
    rows.length > 30 ? details(`${whole(rows.length - 30)} more`, false,
      table(["line", "text", "label", "prediction"], rows.slice(30).map(cells))) : null,
  ];
}

layout(
  el("header", null,
    el("h1", null, data.heading), el("p", { class: "quiet" }, data.subtitle),
    data.notes.map((note) => el("p", { class: "note" }, note)), facts(data.facts)),
  [
    ["scores", "Scores", scores()],
    ["confusion", "Which label was taken for which", data.tests.length
      ? [hint("A row is a true label, and a column what the classifier said."), ...data.tests.flatMap(matrix)] : []],
    ["curves", "How it learned", curves()],
    ["mistakes", "Mistakes", data.tests.flatMap(mistakes)],
    ["text", "Data", data.report ? [el("pre", null, data.report)] : []],
    ["configuration", "Configuration", configuration()],
    ["machine", "Machine and time", data.machine.length ? [table(["", ""], data.machine)] : []],
  ],
  data.footer,
);
