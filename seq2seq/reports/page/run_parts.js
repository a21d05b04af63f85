/* What the pages of all runs have: curves and the configuration. */

const AXES = {
  steps: { of: "steps", label: "optimizer step", at: (x) => `at step ${whole(x)}` },
  hours: { of: "hours", label: "hours", at: (x) => `after ${x.toFixed(2)} hours` },
  tokens: { of: "tgt_tokens", label: "target tokens", at: (x) => `after ${short(x)} tokens` },
};

function curves() {
  if (!data.panels.length) return [];
  const all = data.panels.flatMap((panel) => panel.series);
  const place = el("div", { class: "charts" });
  const draw = (name) => {
    const end = Math.max(...all.map((series) => series[AXES[name].of].at(-1)));
    place.replaceChildren(...data.panels.map((panel) => lineChart(panel, AXES[name], end)));
  };
  const known = Object.keys(AXES).filter((name) => all.every((series) => series[AXES[name].of].length));
  const form = el("fieldset", null,
    el("legend", null, "Over"), known.map((name) => pill("axis", name, name, null, "radio")));
  form.querySelector("input").checked = true;
  form.addEventListener("input", (event) => draw(event.target.value));
  draw("steps");
  const [heads, rows] = data.validations;
  const cells = ([step, ...values]) => [whole(step), ...values.map((value) => number(fixed(value, 2)))];
  return [form, place, rows.length
    ? details(`All ${rows.length} validations`, false, table(["step", ...heads.map(number)], rows.map(cells))) : null];
}

function settings(rows) {
  const cells = ({ key, value, preset, is_changed: isChanged }) => [key, code(value), isChanged ? code(preset) : ""];
  const made = table(["key", "value", "there"], rows.map(cells));
  made.querySelectorAll("tbody tr").forEach((line, i) => line.classList.toggle("changed", rows[i].is_changed));
  return made;
}

const configuration = () => [
  hint(`• differs from ${data.preset}. The others are as there.`),
  details("What differs", true, settings(data.config.filter((row) => row.is_changed))),
  details(`All ${data.config.length} keys`, false, settings(data.config)),
];
