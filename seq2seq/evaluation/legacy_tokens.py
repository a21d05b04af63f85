"""Text in the form that was scored before sacreBLEU: lower-cased Moses tokens with single spaces between them."""

from collections.abc import Callable


def moses_tokens(language: str) -> Callable[[str], str]:
    """A function that turns a sentence into lower-cased Moses tokens, with single spaces between them.

    It normalises punctuation, lowers letters, splits tokens and escapes `& | < > ' " [ ]`. Moses' Perl scripts made the
    `.lc.norm.tok` files of Multi30k in this way (Elliott et al. 2016). The results are the same, with the faults of
    those scripts: the apostrophe of `d’œil` becomes a quotation mark, and that of `d’une` does not.

    Ask `is_tokenised` first (seq2seq/corpus/tokenised.py). Moses splits its own tokens again: `l' herbe` would become
    `l ' herbe`, and `&apos;` three tokens.

    Args:
        language: as sacremoses names it, such as `fr`. A language that it does not know gets the abbreviations of
            English, a decimal point, and no rule for apostrophes: each is a token of its own.
    """
    from sacremoses import MosesPunctNormalizer, MosesTokenizer

    normalizer, tokenizer = MosesPunctNormalizer(language, perl_parity=True), MosesTokenizer(language)

    def tokens(sentence: str) -> str:
        normalised = normalizer.normalize(f"{sentence}\n")  # some rules need the line end of Perl's lines
        return str(tokenizer.tokenize(normalised.lower(), return_str=True))

    return tokens
