"""Faults on the way from a teacher to a student, and from text of one language to pairs."""

from tests.mutants.mutant import Mutant

DISTILLATION, TESTS = "seq2seq/distillation.py", "tests/test_distillation.py"
LEARNS = f"{TESTS}::test_a_student_learns_what_its_teacher_knows"
SHARES = f"{TESTS}::test_shares_and_tags_of_a_teacher_for_each_source"

MUTANTS = [
    Mutant(
        fault="of the translations of a line, the one least like its reference is taken",
        file="seq2seq/translation/consensus.py",
        text="[1:, 0].argmax()",
        becomes="[1:, 0].argmin()",
        tests=["tests/translation/test_consensus.py::test_the_nearest_has_the_highest_score_of_sacrebleu"],
    ),
    Mutant(
        fault="references and translations have each other's share",
        file=DISTILLATION,
        text="spec.weight * self.references",
        becomes="spec.weight * (1 - self.references)",
        tests=[SHARES],
    ),
    Mutant(
        fault="a teacher is not told the kind of the text",
        file=DISTILLATION,
        text="{source.tag} & tags)",
        becomes="set())",
        tests=[SHARES],
    ),
    Mutant(
        fault="the first of several specialists translates all text",
        file=DISTILLATION,
        text="groups[n if self.each else 0]",
        becomes="groups[0]",
        tests=[SHARES],
    ),
    Mutant(
        fault="a test set is translated again by a command that goes on",
        file=DISTILLATION,
        text="if not timed.exists():",
        becomes="if True:",
        tests=[LEARNS],
    ),
    Mutant(
        fault="the worst translations stay",
        file=DISTILLATION,
        text="if self.backward is None:",
        becomes="if True:",
        tests=[SHARES],
    ),
    Mutant(
        fault="sources of a back-translation are searched, not drawn",
        file="seq2seq/backtranslation.py",
        text='else ["--sample", "--seed", seed]',
        becomes="else []",
        tests=["tests/test_backtranslation.py::test_its_pairs_are_training_text"],
    ),
    Mutant(
        fault="blank lines of monolingual text are translated",
        file="seq2seq/backtranslation.py",
        text=" if line.strip())",
        becomes=")",
        tests=["tests/test_backtranslation.py::test_its_pairs_are_training_text"],
    ),
    Mutant(
        fault="each of several processes does all steps",
        file="seq2seq/steps.py",
        text="    if launched():",
        becomes="    if False:",
        tests=["tests/test_backtranslation.py::test_what_it_refuses"],
    ),
    Mutant(
        fault="of a model that has more layers, a run keeps the first ones",
        file="seq2seq/training/module.py",
        text="k * (len(half.layers) - 1) // max(1, n - 1)",
        becomes="k",
        tests=["tests/training/test_finetune.py::test_it_may_have_fewer_layers"],
    ),
]
