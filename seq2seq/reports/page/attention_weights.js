/* The weights of the page, between pieces or joined to words. */

const MEAN = "mean"; // of all heads of a layer
const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";

/* All weights of a view. The text has the thousandths of each, two digits to the base 64. */
function weightsOf(view) {
  if (!view.values) {
    const { weights } = view;
    const digit = (i) => DIGITS.indexOf(weights[i]);
    const weight = (_, i) => (digit(2 * i) * 64 + digit(2 * i + 1)) / 1000;
    view.values = Float32Array.from({ length: weights.length / 2 }, weight);
  }
  return view.values;
}

/* A word is looked at as much as its pieces are together, and looks where they look on average. */
function inWords(values, queries, keys) {
  const [nKeys, nWords] = [keys.word_of.length, keys.words.length];
  const sizes = queries.words.map((_, word) => queries.word_of.filter((each) => each === word).length);
  const joined = new Float32Array(sizes.length * nWords);
  queries.word_of.forEach((q, i) => keys.word_of.forEach((k, j) => {
    joined[q * nWords + k] += values[i * nKeys + j] / sizes[q];
  }));
  return joined;
}

/* The weights of a head in the layer, or of the mean of its heads, row by row. */
function grid(view, layer, head, unit) {
  const size = view.queries.pieces.length * view.keys.pieces.length;
  const heads = head === MEAN ? [...Array(view.heads).keys()] : [head];
  const values = new Float32Array(size);
  for (const h of heads) {
    const from = (layer * view.heads + h) * size;
    weightsOf(view).subarray(from, from + size).forEach((weight, i) => { values[i] += weight / heads.length; });
  }
  return unit === "words" ? inWords(values, view.queries, view.keys) : values;
}
