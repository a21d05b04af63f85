"""Faults in the loss: smoothing, counts, chunks, accumulation."""

from tests.mutants.mutant import Mutant

MUTANTS = [
    Mutant(
        fault="smoothing is spread over all tokens but the target",
        file="seq2seq/training/loss.py",
        text="((1 - eps) * nll + eps * uniform)",
        becomes="((1 - eps) * nll + eps * (uniform - nll / len(weight)) * len(weight) / (len(weight) - 1))",
        tests=["tests/training/test_loss.py::test_loss_and_gradients_equal_torchs"],
    ),
    Mutant(
        fault="the gradient leaves out the smoothing",
        file="seq2seq/training/loss.py",
        text="(p @ rounded_weight) / total - spread * mean_weight",
        becomes="(p @ rounded_weight) / total",
        tests=["tests/training/test_loss.py::test_loss_and_gradients_equal_torchs"],
    ),
    Mutant(
        fault="a teacher is measured and teaches nothing",
        file="seq2seq/training/loss.py",
        text="value=-share",
        becomes="value=0",
        tests=["tests/training/test_loss.py::test_a_teachers_share_equals_torchs"],
    ),
    Mutant(
        fault="a teacher drops activations at random",
        file="seq2seq/training/teacher.py",
        text="requires_grad_(False).eval()",
        becomes="requires_grad_(False).train()",
        tests=["tests/training/test_teacher.py::test_its_factors_are_those_of_the_model_in_half_precision_too"],
    ),
    Mutant(
        fault="padding counts in the loss",
        file="seq2seq/training/loss.py",
        text="is_token = ~is_pad(tgt_out).flatten()",
        becomes="is_token = torch.ones_like(is_pad(tgt_out)).flatten()",
        tests=["tests/training/test_loss.py::test_padding_is_neither_in_the_sums_nor_in_the_counts"],
    ),
    Mutant(
        fault="with a known number of tokens, the loss takes padding in place of them",
        file="seq2seq/training/loss.py",
        text="argsort(descending=True, stable=True)[:n_tokens]",
        becomes="argsort(descending=False, stable=True)[:n_tokens]",
        tests=["tests/training/test_loss.py::test_rows_are_found_by_their_number_as_by_a_search"],
    ),
    Mutant(
        fault="the last row of each chunk of logits is left out",
        file="seq2seq/training/loss.py",
        text="rows = slice(start, start + n_rows)",
        becomes="rows = slice(start, start + n_rows - 1)",
        tests=["tests/training/test_loss.py::test_loss_and_gradients_equal_torchs"],
    ),
    Mutant(
        fault="a step on a GPU asks the device how many tokens its batch has",
        file="seq2seq/training/module.py",
        text="optim.label_smoothing, batch.n_tgt_tokens",
        becomes="optim.label_smoothing, None",
        tests=["tests/training/test_device_waits.py::test_the_step_of_a_run_does_not_wait_either"],
    ),
    Mutant(
        fault="the gradient of the loss does not know by what the loss was divided",
        file="seq2seq/training/loss.py",
        text="return grad_hidden * grad_smoothed, grad_weight * grad_smoothed",
        becomes="return grad_hidden, grad_weight",
        tests=["tests/training/test_module.py::test_training_agrees_with_a_plain_loop"],
    ),
    Mutant(
        fault="the accuracy counts rows, whether they are right or wrong",
        file="seq2seq/training/loss.py",
        text="(target_logit == highest).sum()",
        becomes="(target_logit <= highest).sum()",
        tests=["tests/training/test_loss.py::test_correct_tokens_are_counted"],
    ),
    Mutant(
        fault="a loss is divided by the tokens of the first micro-batch, not of the step",
        file="seq2seq/training/module.py",
        text="self._sum_over_ranks(step.n_tgt_tokens)",
        becomes="step.micro_batches[0].n_tgt_tokens",
        tests=["tests/training/test_module.py::test_a_step_is_the_same_in_one_batch_or_in_several"],
    ),
    Mutant(
        fault="the loss that is logged is that of the last micro-batch",
        file="seq2seq/training/module.py",
        text="sums += torch.stack",
        becomes="sums = torch.stack",
        tests=["tests/training/test_module.py::test_the_loss_of_a_step_is_the_mean_over_its_tokens"],
    ),
    Mutant(
        fault="a GPU gets as few rows of logits at a time as a CPU",
        file="seq2seq/training/loss.py",
        text='return CHUNK if device_type == "cpu" else CHUNK_ON_GPU',
        becomes="return CHUNK",
        tests=["tests/training/test_device_waits.py::test_a_gpu_has_more_logits_at_a_time_than_a_cpu"],
    ),
    Mutant(
        fault="the loss that a page shows is another than it says: without label smoothing",
        file="docs/python.md",
        text='reduction="none", label_smoothing=label_smoothing)',
        becomes='reduction="none")',
        tests=["tests/test_python.py::test_the_code_of_the_page_runs"],
    ),
]
