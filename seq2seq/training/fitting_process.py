"""`python -m seq2seq.training.fitting_process`: prints the numbers of tokens that fit, each as soon as it is known.

`fitting_max_tokens` starts it and writes a `Question` to its stdin. The kernel may kill it at any time.
"""

import base64
import json
import sys

from seq2seq.config import read_config
from seq2seq.memory import is_out_of_memory, limited_memory
from seq2seq.plugins import import_plugins
from seq2seq.tokenizer import Tokenizer
from seq2seq.training.fitting import Question, fitting, new_module
from seq2seq.training.trainer import Machine


def main() -> None:
    asked = json.load(sys.stdin)
    tokenizer = Tokenizer.from_bytes(base64.b64decode(asked.pop("tokenizer")))
    question = Question(**asked)
    import_plugins(question.config["plugins"])
    config = read_config(question.config)
    machine = Machine(
        "cpu", question.precision
    )  # not set up: memory that is freed and kept would fit anything below it
    try:
        with limited_memory(question.room):
            module = new_module(config, tokenizer, machine)
            for n_tokens in fitting(module, config, machine, question.most, question.world_size):
                print(n_tokens, flush=True)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise


if __name__ == "__main__":
    main()
