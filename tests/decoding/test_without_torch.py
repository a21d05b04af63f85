"""Translating with CTranslate2 uses these modules, and should not wait for torch to be imported."""

import subprocess
import sys

from tests.places import ROOT

MODULES = [
    "seq2seq.config",
    "seq2seq.decoding",
    "seq2seq.errors",
    "seq2seq.vocabulary",
]


def test_plans_lengths_and_hypotheses_work_without_torch() -> None:
    code = f"import sys, {', '.join(MODULES)}; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
