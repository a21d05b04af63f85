"""Faults in what is exported: another model or other tokens than those that were trained."""

from tests.mutants.mutant import Mutant

_FILE = "seq2seq/export/hugging_face.py"
_TESTS = "tests/export/test_hugging_face.py"
_VARIANTS = [f"{_TESTS}::test_every_variant_computes_the_same"]

MUTANTS = [
    Mutant(
        fault="sines and cosines keep their order",
        file=_FILE,
        text="torch.cat([order[0::2], order[1::2]])",
        becomes="order + 0",
        tests=[f"{_TESTS}::test_what_transformers_saves_again_without_positions_computes_the_same"],
    ),
    Mutant(
        fault="what adds to the residual stream adds to other channels",
        file="seq2seq/artifacts/marian.py",
        text="return weight[channels]",
        becomes="return weight",
        tests=_VARIANTS,
    ),
    Mutant(
        fault="unk may be generated, and has a share of the probability",
        file=_FILE,
        text="bias[[PAD, UNK, BOS]]",
        becomes="bias[[PAD, BOS]]",
        tests=_VARIANTS,
    ),
    Mutant(
        fault="a translation starts from the embedding of pad",
        file=_FILE,
        text="        weight[PAD] = weight[BOS]\n",
        becomes="",
        tests=_VARIANTS,
    ),
    Mutant(
        fault="a translation starts with eos",
        file=_FILE,
        text='"decoder_start_token_id": PAD',
        becomes='"decoder_start_token_id": EOS',
        tests=_VARIANTS,
    ),
    Mutant(
        fault="a mark after a ligature is lost",
        file=_FILE,
        text='"content": _APART}',
        becomes='"content": ""}',
        tests=[f"{_TESTS}::test_hostile_lines_have_the_same_ids_and_the_same_text"],
    ),
    Mutant(
        fault="what is common is likely for every source",
        file="seq2seq/export/shortlist.py",
        text="likely[places] / likely[places].sum(0)",
        becomes="likely[places]",
        tests=["tests/export/test_shortlist.py"],
    ),
    Mutant(
        fault="a shortlist knows the first documents of a text alone",
        file="seq2seq/export/export.py",
        text="spread_pairs(source, share)",
        becomes="islice(read_pairs(source), share)",
        tests=["tests/export/test_shortlist.py"],
    ),
    Mutant(
        fault="a shortlist is shipped, and is not used",
        file="seq2seq/translation/engines/ctranslate2.py",
        text="use_vmap=self._has_shortlist",
        becomes="use_vmap=False",
        tests=["tests/export/test_shortlist.py"],
    ),
    Mutant(
        fault="any directory is replaced",
        file="seq2seq/artifacts/model_directory.py",
        text="if path.exists() and not (overwrite and is_ours(path)):",
        becomes="if path.exists() and not overwrite:",
        tests=[f"{_TESTS}::test_only_such_a_directory_is_replaced"],
    ),
]
