"""Text as translations were scored before sacreBLEU: lower-cased, with Moses' tokens between single spaces."""

from collections.abc import Callable


def moses_tokens(language: str) -> Callable[[str], str]:
    """What turns a sentence into its tokens, lower-cased, with spaces between them.

    Punctuation is normalised, then letters are lowered, then tokens are split and `& | < > ' " [ ]` escaped: so Moses'
    Perl scripts made the `.lc.norm.tok` files of Multi30k (Elliott et al. 2016). The results are the same, faults of
    theirs included: a quotation mark for the apostrophe of `d’œil`, but not for the one of `d’une`.

    Ask `is_tokenised` first (seq2seq/corpus/tokenised.py). Moses splits its own tokens again: `l' herbe` would become
    `l ' herbe`, and `&apos;` three tokens.

    Args:
        language: as sacremoses names it, such as `fr`. One that it does not know has the abbreviations of English, no
            rule for apostrophes (each is a token of its own) and a decimal point.
    """
    from sacremoses import MosesPunctNormalizer, MosesTokenizer

    normalizer, tokenizer = MosesPunctNormalizer(language, perl_parity=True), MosesTokenizer(language)

    def tokens(sentence: str) -> str:
        normalised = normalizer.normalize(f"{sentence}\n")  # Perl's lines have an end, which some of the rules need
        return str(tokenizer.tokenize(normalised.lower(), return_str=True))

    return tokens
