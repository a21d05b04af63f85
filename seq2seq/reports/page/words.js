/* Words: what differs between two texts, and which word of a translation comes from which of its source. */

/* Words and punctuation marks. Writing without spaces goes by its characters. */
const TOKEN = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]|[\p{L}\p{N}\p{M}]+|[^\s\p{L}\p{N}\p{M}]/gu;
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
  let token = 0;
  let word = 0;
  return text.split(/(\s+)/).map((part) => {
    if (!part || /^\s+$/.test(part)) return part;
    const pieces = [];
    let end = 0;
    for (const match of part.matchAll(TOKEN)) {
      pieces.push(part.slice(end, match.index));
      const name = kind(token++);
      pieces.push(name ? el("span", { class: name }, match[0]) : match[0]);
      end = match.index + match[0].length;
    }
    return el("span", { class: "word", "data-word": side ? `${side}${word++}` : null }, pieces, part.slice(end));
  });
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
