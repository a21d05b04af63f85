/* The sentences of a test set: filters, and a card for each. */

const METRICS = { bleu: "BLEU", chrf: "chrF", "chrf++": "chrF++", ter: "TER", bleu_legacy_tok: "BLEU, legacy tokens" };

const searchable = (item) =>
  (item.all ??= [item.source ?? "", ...item.texts, ...item.references].join("\n").toLowerCase());

const LENGTHS = [
  ["", "any"], ["0-9", "below 10 words"], ["10-19", "10 to 19"], ["20-39", "20 to 39"], ["40-", "40 and more"],
];

/* What both kinds of page can filter by. The length is that of the source, or of the reference if no source is kept. */
function commonFilters(items) {
  const domains = [...new Set(items.map((item) => item.domain).filter(Boolean))].sort();
  return [
    el("label", { class: "grow" }, "Search",
      el("input", { type: "search", name: "search", placeholder: "in all texts" })),
    choice("length", "Source length", LENGTHS),
    domains.length ? choice("domain", "Domain", [["", "any"], ...domains.map((name) => [name, name])]) : null,
    items.some((item) => item.is_in_train != null)
      ? choice("train", "Source in train", [["", "any"], ["true", "yes"], ["false", "no"]]) : null,
  ];
}

function letsThrough(item, chosen) {
  const [low, high] = (chosen.get("length") || "0-").split("-");
  item.length ??= nWords(item.source ?? item.references[0] ?? "");
  return item.length >= Number(low) && item.length <= (high ? Number(high) : Infinity)
    && searchable(item).includes((chosen.get("search") ?? "").toLowerCase())
    && (!chosen.get("domain") || item.domain === chosen.get("domain"))
    && (!chosen.get("train") || String(item.is_in_train) === chosen.get("train"));
}

/* The reference that has most in common with a text comes first. */
function nearestFirst(references, text) {
  const words = tokens(text);
  const share = (reference) => common(words, tokens(reference)).share;
  return references.length < 2 ? references : [...references].sort((a, b) => share(b) - share(a));
}

const about = (item) => [
  item.domain ? el("span", null, item.domain) : null,
  item.is_in_train ? el("span", null, "source in train") : null,
  item.rarest_count == null ? null : el("span", null, `rarest word ${whole(item.rarest_count)}× in train`),
];

const row = (name, language, ...content) => [el("dt", null, name), el("dd", { lang: language, dir: "auto" }, content)];

/* Each test set has its own list; a choice stands above them if there are several. */
function perTest(tests, draw) {
  const place = el("div");
  const show = (name) => {
    const drawn = draw(tests.find((each) => each.test === name));
    place.replaceChildren(...drawn.flat(Infinity).filter((part) => part != null));
  };
  if (!tests.length) return [];
  show(tests[0].test);
  if (tests.length === 1) return [place];
  const select = choice("test", "Test set", tests.map(({ test }) => [test, test]));
  select.addEventListener("change", (event) => show(event.target.value));
  return [el("form", null, select), place];
}
