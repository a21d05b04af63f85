/* Words: what differs between two texts, and which word of a translation comes from which of its source. */

/* A character of writing without spaces, with its marks: the first character of it, and all of it. */
const SCRIPTS = "Han Hira Kana Bopo Yiii Thai Laoo Khmr Mymr Tibt Tale Talu Lana Tavt Ahom".split(" ");
const UNSPACED = `(?=[\\p{L}\\p{N}])[${SCRIPTS.map((name) => `\\p{scx=${name}}`).join("")}]`;
const CHARACTER = `${UNSPACED}(?:[\u1039\u17d2]\\p{L}|[\\p{M}\u0e33\u0eb3])*`;

/* As `split_words` of Python: what white space separates, or characters. */
const WORD = new RegExp(`${CHARACTER}|(?:(?!${UNSPACED})\\S)+`, "gu");
const words = (text) => [...text.matchAll(WORD)].map((match) => match[0]);

/* As `n_words` of Python: two characters count as a word. */
function nWords(text) {
  const found = words(text);
  const isCharacter = new RegExp(`^${CHARACTER}$`, "u");
  return found.length - Math.floor(found.filter((word) => isCharacter.test(word)).length / 2);
}

/* Words and punctuation marks. */
const TOKEN = new RegExp(`${CHARACTER}|(?:(?!${UNSPACED})[\\p{L}\\p{N}\\p{M}])+|[^\\s\\p{L}\\p{N}\\p{M}]`, "gu");
const tokens = (text) => [...text.matchAll(TOKEN)].map((match) => match[0]);

/* Which tokens of a and b are in their longest common subsequence. */
function common(a, b) {
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i][j] = a[i] === b[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  const [inA, inB] = [a.map(() => false), b.map(() => false)];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) inA[i++] = inB[j++] = true;
    else if (lengths[i + 1][j] >= lengths[i][j + 1]) i++;
    else j++;
  }
  return { inA, inB, share: (2 * lengths[0][0]) / Math.max(1, a.length + b.length) };
}

/* A text as words, each a span; `kind(i)` is the class of its token i, or nothing. */
function coloured(text, kind, side) {
  let [token, word, shown] = [0, 0, 0];
  const parts = [];
  for (const { 0: part, index } of text.matchAll(WORD)) {
    const pieces = [];
    let end = 0;
    for (const match of part.matchAll(TOKEN)) {
      pieces.push(part.slice(end, match.index));
      const name = kind(token++);
      pieces.push(name ? el("span", { class: name }, match[0]) : match[0]);
      end = match.index + match[0].length;
    }
    parts.push(text.slice(shown, index));
    parts.push(el("span", { class: "word", "data-word": side ? `${side}${word++}` : null }, pieces, part.slice(end)));
    shown = index + part.length;
  }
  return [...parts, text.slice(shown)];
}

const plain = (text, side) => coloured(text, () => null, side);

/* Light up a word and its partners: by pointer, by touch, and with the arrow keys while the sentence has the focus. */
function showAlignment(article, pairs) {
  const partners = new Map();
  for (const [s, t] of pairs) {
    for (const [one, other] of [[`s${s}`, `t${t}`], [`t${t}`, `s${s}`]]) {
      partners.set(one, [...(partners.get(one) ?? []), other]);
    }
  }
  const light = (name) => {
    const lit = name ? new Set([name, ...(partners.get(name) ?? [])]) : new Set();
    for (const word of article.querySelectorAll("[data-word]")) {
      word.classList.toggle("lit", lit.has(word.dataset.word));
    }
  };
  article.addEventListener("pointerover", (event) => light(event.target.closest("[data-word]")?.dataset.word));
  article.addEventListener("pointerleave", () => light(null));
  let at = -1;
  article.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const n = article.querySelectorAll('[data-word^="s"]').length;
    at = (at + by + n) % n;
    light(`s${at}`);
  });
  article.addEventListener("blur", () => light(null));
}
