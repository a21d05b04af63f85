"""Write the training text of train_speed.py for the peers:  python benchmarks/training_text.py JOB

These are the pairs that our own training reads, cut into pieces by the one model that it trains. `train.src` and
`train.tgt` have a sentence a line, with spaces between the pieces. `vocabulary` has a piece a line, in order of ids.
"""

import json
from pathlib import Path

from peers.meter import Job

from seq2seq.config import read_config
from seq2seq.dataset.prepare import prepare


def main() -> None:
    job = Job.from_arguments(__doc__)
    prepared = prepare(read_config(job.config))
    store, folder = prepared.train, Path(job.folder)
    pieces = prepared.tokenizer.pieces(range(prepared.tokenizer.vocab_size))
    (folder / "vocabulary").write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    for side, ids_of in {"src": store.src, "tgt": store.tgt}.items():
        lines = (" ".join(pieces[id_] for id_ in ids_of(i)) for i in range(len(store)))
        job.pieces(side).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(
        json.dumps(
            {
                "pairs": len(store),
                "src": int(store.src_lengths.sum()) + len(store),  # an eos each
                "tgt": int(store.tgt_lengths.sum()) + len(store),
            }
        )
    )


if __name__ == "__main__":
    main()
