/* What cleaning does to a corpus. */

const data = JSON.parse(document.getElementById("data").textContent);
const [sourceLanguage, targetLanguage] = data.languages;
const percent = (count) => `${((100 * count) / Math.max(1, data.read)).toFixed(2)}%`;

/* Bars of two counts, before and after, on one scale. */
function bars(before, after, most) {
  const wide = (count) => (200 * count) / Math.max(1, most);
  return svg("svg", { viewBox: "0 0 208 24", role: "img", "aria-label": `${whole(before)} before, ${whole(after)} after` },
    svg("rect", { x: 0, y: 3, width: wide(before), height: 8, fill: "var(--series-1)" }),
    svg("rect", { x: 0, y: 13, width: wide(after), height: 8, fill: "var(--series-0)" }));
}

function histogram(title, starts, before, after) {
  const most = Math.max(...before);
  const label = (start, i) => (i + 1 < starts.length ? `${start} to ${starts[i + 1]}` : `${start} and more`);
  const rows = starts.map((start, i) => [
    label(start, i), bars(before[i], after[i], most), number(whole(before[i])), number(whole(after[i]))]);
  return [el("h3", null, title), table(["from", "", number("before"), number("after")], rows)];
}

const counted = (title, before, after) => table([title, number("before"), number("after")],
  Object.entries(before).map(([name, count]) => [name, number(whole(count)), number(whole(after[name] ?? 0))]));

const reasons = () => Object.entries(data.rejected).map(([name, count]) =>
  [code(name), data.meanings[name], number(whole(count)), number(percent(count))]);

const rules = () => data.rules.map((rule) => [code(rule.name), rule.reason, number(short(rule.threshold)),
  number(rule.suggested == null ? "" : short(rule.suggested)), number(whole(rule.failed)),
  number(whole(rule.dropped_first))]);

const examples = () => Object.entries(data.examples).map(([name, found]) => [
  el("h3", null, code(name), " ", data.meanings[name]),
  found.map((each) => el("article", null, el("dl", { class: "texts" },
    row("source", sourceLanguage, visible(each.src)), row("target", targetLanguage, visible(each.tgt))),
    el("header", null, each.value ? el("span", null, `measured ${short(each.value)}`) : null))),
]);

/* Characters that nobody sees are shown as escapes. */
function visible(text) {
  return text.split(/([\u0000-\u001f\u007f-\u009f\u00ad\u200b\u2028\u2029\u2060\ufeff])/).map((part, i) =>
    (i % 2 ? el("span", { class: "wrong" }, `\\u${part.charCodeAt(0).toString(16).padStart(4, "0")}`) : part));
}

const several = data.targets_of_a_source;
layout(
  el("header", null, el("h1", null, data.heading),
    facts([["read", whole(data.read)], ["kept", whole(data.kept), percent(data.kept)],
      ["copies", whole(data.copies)], ["exact repetitions", whole(data.duplicates)],
      ["sources with several targets", whole(several.with_several), `at most ${whole(several.most)}`]])),
  [
    ["reasons", "What is dropped", [
      table(["reason", "meaning", number("pairs"), number("share")], reasons(),
        "Each pair counts once, by its first reason.")]],
    ["rules", "Rules", [
      table(["rule", "what it means", number("threshold"), number("suggested"), number("above it"),
        number("dropped first")], rules(),
        "The suggested threshold keeps 99% of the pairs that all other rules keep."),
      ...data.notes.map((note) => hint(note))]],
    ["shape", "Before and after", [
      histogram(`Words, ${sourceLanguage}`, data.bins.lengths, data.before.length_histogram.src,
        data.after.length_histogram.src),
      histogram(`Words, ${targetLanguage}`, data.bins.lengths, data.before.length_histogram.tgt,
        data.after.length_histogram.tgt),
      histogram("Longer side over shorter, in letters", data.bins.ratios, data.before.ratio_histogram,
        data.after.ratio_histogram)].flat()],
    ["languages", "Languages and scripts", [
      hint("One pair in ten."),
      ...["src", "tgt"].flatMap((side, i) => [
        counted(`languages, ${data.languages[i]}`, data.before.languages[side], data.after.languages[side]),
        counted(`scripts, ${data.languages[i]}`, data.before.scripts[side], data.after.scripts[side])]),
      table(["normal form", number("sides")], Object.entries(data.normal_forms).map(([n, c]) => [n, number(whole(c))]))]],
    ["sources", "Sources", [table(["files", number("read"), number("kept"), "dropped"], data.sources.map((each) =>
      [each.name, number(whole(each.read)), number(whole(each.kept)),
        Object.entries(each.rejected).map(([name, count]) => `${name} ${whole(count)}`).join(", ")]))]],
    ["examples", "Examples", examples().flat()],
  ],
);
