/* Charts as inline SVG. Colours are classes, so that the style sheet decides on light, dark and paper. */

const SPARSE = 60; // points of a line that are few enough to be dots, too

function ticks(low, high, n) {
  const rough = (high - low) / n || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.9);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(i * step);
  return found;
}

/* From where to where an axis of values goes. */
function range(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const usual = sorted[Math.floor(sorted.length * 0.97)];
  let [low, high] = [sorted[0], sorted.at(-1)];
  if (usual > 0 && high > 1.5 * usual) high = 1.2 * usual; // the first steps of a loss would press all others flat
  if (low > 0 && low < (high - low) * 1.5) low = 0; // a scale from 0 where it costs little
  if (high === low) high = low + 1;
  const margin = (high - low) * 0.04;
  return [low ? low - margin : 0, high + margin];
}

const nearest = (values, to) =>
  values.reduce((best, value, i) => (Math.abs(value - to) < Math.abs(values[best] - to) ? i : best), 0);

/* Lines over steps, hours or tokens, up to an end that all charts of the page share. The pointer, or the arrow keys,
   move a cursor whose values stand in the legend. */
function lineChart(panel, axis, end) {
  const [width, height] = [360, 210];
  const [left, right, top, bottom] = [46, width - 12, 8, height - 34];
  const places = (series) => series[axis.of];
  const xs = [...new Set(panel.series.flatMap(places))].sort((a, b) => a - b);
  const [x0, x1] = [Math.min(0, xs[0]), end > 0 ? end : 1];
  const [y0, y1] = range(panel.series.flatMap((series) => series.values));
  const x = (value) => left + ((value - x0) / (x1 - x0)) * (right - left);
  const y = (value) => bottom - ((value - y0) / (y1 - y0)) * (bottom - top);

  const line = (series, number) => {
    const points = places(series).map((place, i) => [x(place).toFixed(1), y(series.values[i]).toFixed(1)]);
    const isFaint = panel.series.length > 1 && points.length > SPARSE;
    return svg("g", { class: `series-${number}` },
      svg("polyline", { class: isFaint ? "line faint" : "line", points: points.map(String).join(" ") }),
      points.length > SPARSE ? null : points.map(([cx, cy]) => svg("circle", { r: 2.4, cx, cy })));
  };
  const box = { x: left, y: top, width: width - left, height: bottom - top };
  const cursor = svg("line", { class: "cursor", y1: top, y2: bottom, visibility: "hidden" });
  const picture = svg("svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", tabindex: 0, "aria-label": `${panel.title} over ${axis.label}` },
    ticks(y0, y1, 4).map((value) => [
      svg("line", { class: "axis", x1: left, x2: right, y1: y(value), y2: y(value) }),
      svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, short(value))]),
    ticks(x0, x1, 4).map((value) =>
      svg("text", { x: x(value), y: bottom + 15, "text-anchor": "middle" }, short(value))),
    svg("text", { x: (left + right) / 2, y: height - 3, "text-anchor": "middle" }, axis.label),
    svg("svg", { ...box, viewBox: Object.values(box).join(" ") }, panel.series.map(line)), // cuts off what is above
    cursor);

  const legend = el("div", { class: "legend" });
  const say = (at) => legend.replaceChildren(
    ...panel.series.map((series, number) =>
      el("span", null, el("span", { class: `key series-${number}` }), series.label,
        at == null ? "" : ` ${short(series.values[nearest(places(series), at)])}`)),
    at == null ? "" : el("span", null, axis.at(at)));
  let place = xs.length - 1;
  const move = (to) => {
    place = Math.max(0, Math.min(xs.length - 1, to));
    fill(cursor, { x1: x(xs[place]), x2: x(xs[place]), visibility: "visible" }, []);
    say(xs[place]);
  };
  const leave = () => {
    fill(cursor, { visibility: "hidden" }, []);
    say(null);
  };
  picture.addEventListener("pointermove", (event) => {
    const shown = picture.getBoundingClientRect();
    const at = ((event.clientX - shown.left) / shown.width) * width;
    move(nearest(xs.map(x), at));
  });
  picture.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20 }[event.key];
    if (!by) return;
    event.preventDefault();
    move(place + by);
  });
  picture.addEventListener("pointerleave", leave);
  picture.addEventListener("blur", leave);
  say(null);
  return el("figure", null, el("figcaption", null, panel.title, " ", el("span", null, panel.unit)), legend, picture);
}

/* One row of a chart: a score with its interval. The dashed line is a score to compare it with. */
function interval({ score, half_width: half = 0 }, [low, high], colour, overall) {
  const x = (value) => 6 + Math.max(0, Math.min(1, (value - low) / (high - low || 1))) * 196;
  return svg("svg",
    { viewBox: "0 0 208 24", role: "img", class: `series-${colour}`, "aria-label": `${fixed(score)} ±${fixed(half)}` },
    overall == null ? null : svg("line", { class: "whole", x1: x(overall), x2: x(overall), y1: 0, y2: 24 }),
    svg("line", { "stroke-width": 2, x1: x(score - half), x2: x(score + half), y1: 12, y2: 12 }),
    svg("circle", { cx: x(score), cy: 12, r: 4 }));
}

/* From where to where the intervals of some scores reach: two points at least, so that no hundredth looks large. */
function reach(scores) {
  const known = scores.filter(({ score }) => score != null);
  const low = Math.min(...known.map(({ score, half_width: half = 0 }) => score - half));
  const high = Math.max(...known.map(({ score, half_width: half = 0 }) => score + half));
  const margin = Math.max(0, 2 - (high - low)) / 2;
  return [Math.max(0, low - margin), high + margin];
}

/* How much each piece of a translation looks at each piece of its source. */
function heatMap({ source_pieces: columns, target_pieces: rows, weights }) {
  const size = 22;
  const margin = (words) => Math.max(...words.map(widthOf)) * 7 + 10;
  const [left, top] = [margin(rows), margin(columns)];
  const square = { width: size - 1, height: size - 1 };
  const cell = (weight, i, j) =>
    svg("rect",
      { x: left + i * size, y: top + j * size, ...square, "fill-opacity": Math.max(0.04, weight) },
      svg("title", null, `${rows[j]} ← ${columns[i]}: ${fixed(weight, 2)}`));
  const above = (word, i) =>
    svg("text", { transform: `translate(${left + (i + 0.65) * size} ${top - 6}) rotate(-90)` }, word);
  const beside = (word, j) => svg("text", { x: left - 6, y: top + (j + 0.68) * size, "text-anchor": "end" }, word);
  return el("div", { class: "heat" }, svg("svg",
    {
      width: left + columns.length * size + 10,
      height: top + rows.length * size + 6,
      role: "img",
      "aria-label": "Attention of each piece of the translation to the source",
    },
    columns.map(above), rows.map(beside), weights.map((row, j) => row.map((weight, i) => cell(weight, i, j)))));
}
