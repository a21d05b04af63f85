"""Faults in what is said of heads, alignments and vectors of words."""

from tests.mutants.mutant import Mutant

MUTANTS = [
    Mutant(
        fault="the head before the one that was meant is switched off",
        file="seq2seq/model/ablation.py",
        text="heads[..., head, :] = 0",
        becomes="heads[..., head - 1, :] = 0",
        tests=["tests/model/test_ablation.py"],
    ),
    Mutant(
        fault="a head stays off",
        file="seq2seq/model/ablation.py",
        text="    handle = attention.to_out.register_forward_pre_hook(zero)\n    try:\n        yield\n"
        "    finally:\n        handle.remove()",
        becomes="    attention.to_out.register_forward_pre_hook(zero)\n    yield",
        tests=["tests/model/test_ablation.py"],
    ),
    Mutant(
        fault="a self-attention is switched off for whole targets only, not in a search",
        file="seq2seq/model/ablation.py",
        text="last = sublayer.to_out if isinstance(sublayer, MultiHeadAttention) else sublayer",
        becomes="last = sublayer",
        tests=["tests/model/test_ablation.py"],
    ),
    Mutant(
        fault="a loss is a gain",
        file="seq2seq/inspection/ablating.py",
        text='bleu - scores["bleu"].score',
        becomes='scores["bleu"].score - bleu',
        tests=["tests/inspection/test_ablating.py"],
    ),
    Mutant(
        fault="queries that are padding count",
        file="seq2seq/inspection/head_figures.py",
        text="queries.double())",
        becomes="torch.ones_like(queries).double())",
        tests=["tests/inspection/test_head_figures.py"],
    ),
    Mutant(
        fault="the previous token is taken for the next one",
        file="seq2seq/inspection/head_figures.py",
        text="for offset in (0, -1, 1)",
        becomes="for offset in (0, 1, -1)",
        tests=["tests/inspection/test_head_figures.py"],
    ),
    Mutant(
        fault="entropy is in nats",
        file="seq2seq/inspection/head_figures.py",
        text=".sum(-1) / np.log(2)",
        becomes=".sum(-1)",
        tests=["tests/inspection/test_head_figures.py"],
    ),
    Mutant(
        fault="the source words of a model with tags are one place off",
        file="seq2seq/inspection/heads.py",
        text="n_tags : n_tags + len(src_of)",
        becomes=": len(src_of)",
        tests=["tests/inspection/test_heads.py"],
    ),
    Mutant(
        fault="IBM model 1 has no empty word",
        file="seq2seq/inspection/word_aligner.py",
        text="np.array([0, *src])",
        becomes="np.array([*src])",
        tests=["tests/inspection/test_word_aligner.py"],
    ),
    Mutant(
        fault="one place of a repeated word gets all links",
        file="seq2seq/inspection/word_aligner.py",
        text="1 - _NEARER * np.abs(tgt_places[:, None] - src_places)",
        becomes="1",
        tests=["tests/inspection/test_word_aligner.py"],
    ),
    Mutant(
        fault="the error rate forgets the possible links",
        file="seq2seq/inspection/link_scores.py",
        text="1 - (self.sure + self.possible) / total",
        becomes="1 - 2 * self.sure / total",
        tests=["tests/inspection/test_link_scores.py"],
    ),
    Mutant(
        fault="the vector of the tag is taken for that of the first piece",
        file="seq2seq/inspection/vectors.py",
        text="each[len(tag) : len(tag) + len(ids)]",
        becomes="each[: len(ids)]",
        tests=["tests/inspection/test_vectors.py"],
    ),
    Mutant(
        fault="eos counts in the mean of a sentence",
        file="seq2seq/inspection/vectors.py",
        text="lengths = np.diff([*starts, len(states)])[:, None]",
        becomes="lengths = np.diff([*starts, len(states) + 1])[:, None]",
        tests=["tests/inspection/test_vectors.py"],
    ),
    Mutant(
        fault="the rows of a file of vectors say the wrong line",
        file="seq2seq/inspection/vector_file.py",
        text="np.full(len(line.vectors), number)",
        becomes="np.full(len(line.vectors), number + 1)",
        tests=["tests/inspection/test_vector_file.py"],
    ),
    Mutant(
        fault="the farthest words are the nearest ones",
        file="seq2seq/inspection/neighbours.py",
        text="np.argsort(-cosines, kind=",
        becomes="np.argsort(cosines, kind=",
        tests=["tests/inspection/test_neighbours.py"],
    ),
]
