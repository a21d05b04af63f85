"""Faults in classifiers: what is learned, what stays frozen, what is scored."""

from tests.mutants.mutant import Mutant

RUNS = "tests/training/classification/test_runs.py"
MODEL = "tests/model/test_classifier.py"
SCORES = "tests/evaluation/test_labels.py"

MUTANTS = [
    Mutant(
        fault="padding takes part in the mean",
        file="seq2seq/model/classifier.py",
        text="return (scores * weights).sum(1) / weights.sum(1)",
        becomes="return scores.mean(1)",
        tests=[f"{MODEL}::test_padding_changes_no_logit_and_gets_no_gradient"],
    ),
    Mutant(
        fault="padding takes part in the maximum",
        file="seq2seq/model/classifier.py",
        text="scores.masked_fill(~is_token.unsqueeze(-1), -torch.inf).amax(1)",
        becomes="scores.amax(1)",
        tests=[f"{MODEL}::test_pools_are_those_worked_out_by_hand"],
    ),
    Mutant(
        fault="a frozen encoder has dropout",
        file="seq2seq/model/classifier.py",
        text="part.eval()",
        becomes="part.train(mode)",
        tests=[f"{MODEL}::test_a_frozen_encoder_has_no_dropout_and_no_gradient"],
    ),
    Mutant(
        fault="the embeddings of a fine-tuned encoder begin at random",
        file="seq2seq/model/classifier.py",
        text="        self.embeddings.source.copy_(other.embeddings.source)\n",
        becomes="",
        tests=[f"{MODEL}::test_it_takes_the_encoder_of_a_translation_model"],
    ),
    Mutant(
        fault="an average of checkpoints rounds a frozen encoder",
        file="seq2seq/training/selection.py",
        text="weight / len(paths) if name in moved else first[name].float()",
        becomes="weight / len(paths)",
        tests=[f"{RUNS}::test_an_average_of_checkpoints_keeps_what_is_the_same_in_all"],
    ),
    Mutant(
        fault="Muon keeps room for the weights of a frozen encoder",
        file="seq2seq/training/muon.py",
        text="if isinstance(module, nn.Linear) and module.weight.requires_grad:",
        becomes="if isinstance(module, nn.Linear):",
        tests=["tests/training/test_muon.py::test_frozen_weights_are_left_out"],
    ),
    Mutant(
        fault="the loss of a step is the mean over labels and their ends",
        file="seq2seq/training/classification/module.py",
        text="return super()._share(smoothed) * TOKENS_OF_TARGET",
        becomes="return super()._share(smoothed)",
        tests=[f"{RUNS}::test_the_gradient_of_a_step_is_that_of_the_mean_over_its_sentences"],
    ),
    Mutant(
        fault="labels count by how often they come",
        file="seq2seq/evaluation/labels.py",
        text="(f1 * occurs).sum(-1), occurs.sum(-1)",
        becomes="(f1 * n_sentences).sum(-1), n_sentences.sum(-1)",
        tests=[f"{SCORES}::test_scores_are_those_worked_out_by_hand"],
    ),
    Mutant(
        fault="precision is recall",
        file="seq2seq/evaluation/labels.py",
        text="n_sentences, n_predictions = counts.sum(-1), counts.sum(-2)",
        becomes="n_sentences, n_predictions = counts.sum(-2), counts.sum(-1)",
        tests=[f"{SCORES}::test_scores_are_those_worked_out_by_hand"],
    ),
    Mutant(
        fault="a store of other labels is taken from the cache",
        file="seq2seq/dataset/prepare.py",
        text="        | dict(text.key)\n",
        becomes="",
        tests=["tests/dataset/test_labels.py::test_another_set_of_labels_makes_another_store"],
    ),
    Mutant(
        fault="the texts of a block are answered in the order of their lengths",
        file="seq2seq/model/labels.py",
        text="found[rows] = logits",
        becomes="found[sorted(rows)] = logits",
        tests=[f"{MODEL}::test_texts_of_all_lengths_in_batches_of_any_size_get_the_same_labels"],
    ),
    Mutant(
        fault="a text that just fits is said to be cut",
        file="seq2seq/classification/text_classifier.py",
        text="is_cut=len(ids[i]) > longest",
        becomes="is_cut=len(ids[i]) >= longest",
        tests=["tests/classification/test_lines.py::test_a_text_that_is_too_long_is_read_from_its_beginning"],
    ),
]
