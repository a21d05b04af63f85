"""Words as they are compared: without case, and without the marks around them."""

from seq2seq.characters import bare, split_words


def bare_words(text: str) -> list[str]:
    """All of `split_words(text)`, in order. A word of marks stays as it is."""
    return [bare(word).casefold() or word for word in split_words(text)]
