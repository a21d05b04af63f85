"""Which sentences of a batch are still being searched, and when the batch shrinks."""

from collections.abc import Sequence

from seq2seq.decoding.rounding import round_up


class Rows:
    """The rows of a batch. Each row is one sentence.

    Rows that are done stay in the batch until it can shrink to the next size that `round_up` gives. Keys and values
    then move a few times, not at every step, and oneDNN compiles its kernels for a few sizes only.
    """

    def __init__(self, n: int) -> None:
        self.sentences = list(range(n))  # of each row
        self._is_done = [False] * n

    def newly_done(self, is_done: Sequence[bool]) -> list[tuple[int, int]]:
        """(row, sentence) of each row that is done for the first time.

        Args:
            is_done: whether each row is done. Rows that were done before may have any value.
        """
        found = []
        for row, done in enumerate(is_done):
            if done and not self._is_done[row]:
                self._is_done[row] = True
                found.append((row, self.sentences[row]))
        return found

    @property
    def all_done(self) -> bool:
        return all(self._is_done)

    def shrink(self) -> list[int] | None:
        """The rows to keep, ascending: those that are open, and a few others to fill the batch. None keeps all rows."""
        open_rows = [row for row, done in enumerate(self._is_done) if not done]
        n_spare = round_up(len(open_rows)) - len(open_rows)
        if len(open_rows) + n_spare >= len(self._is_done):
            return None
        spare = [row for row, done in enumerate(self._is_done) if done][:n_spare]
        rows = sorted(open_rows + spare)
        self.sentences = [self.sentences[row] for row in rows]
        self._is_done = [self._is_done[row] for row in rows]
        return rows
