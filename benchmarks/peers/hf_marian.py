"""How fast is Hugging Face's `generate` with our weights?

    PYTHON benchmarks/peers/hf_marian.py --model DIR --input FILE --reference FILE --output FILE --beam 5

DIR is what `python -m seq2seq export RUN --format safetensors` writes. The model must be what Marian is: post-norm and
ReLU, with sinusoidal positions and one shared table. PYTHON is that of another environment, with torch, transformers,
sentencepiece and sacrebleu. It imports nothing of this project. The last line on stdout is a JSON object with the
measurements.

Shapes: L positions, D d_model, V vocabulary
"""

import argparse
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import sacrebleu
import sentencepiece
import torch
import transformers
from marian import marian_config
from meter import BOS, EOS, PAD, UNK
from safetensors.torch import load_file
from torch import Tensor
from transformers import MarianMTModel

NEVER = -1e9  # logit of what may not be generated; -inf would make nan of a beam's sums


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, metavar="DIR", help="model directory with safetensors")
    parser.add_argument("--input", type=Path, required=True, metavar="FILE")
    parser.add_argument("--reference", type=Path, metavar="FILE", help="known translations, for BLEU")
    parser.add_argument("--output", type=Path, metavar="FILE", help="where to write the translations")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--batch", type=int, default=32, help="sentences a batch")
    parser.add_argument("--bf16", action="store_true", help="the whole model in bfloat16")
    parser.add_argument("--threads", type=int, default=0, help="default: as torch decides")
    parser.add_argument("--warmup", type=int, default=64, help="lines translated before the clock starts")
    args = parser.parse_args()
    transformers.logging.set_verbosity_error()
    if args.threads:
        torch.set_num_threads(args.threads)
    lines = read_lines(args.input)

    began = time.perf_counter()
    translator = Marian(args.model, torch.bfloat16 if args.bf16 else torch.float32, args.beam, args.batch)
    load_s = time.perf_counter() - began
    translator.translate(lines[:: max(1, len(lines) // max(1, args.warmup))][: args.warmup])

    began, cpu_began_s = time.perf_counter(), time.process_time()
    texts, n_tokens = translator.translate(lines)
    elapsed_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu_began_s
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if args.output:
        args.output.write_text("".join(text.replace("\n", " ") + "\n" for text in texts), encoding="utf-8")
    bleu = sacrebleu.corpus_bleu(texts, [read_lines(args.reference)]).score if args.reference else None
    print(
        json.dumps(
            {
                "sentences_per_s": len(lines) / elapsed_s,
                "tokens_per_s": n_tokens / elapsed_s,
                "n_tokens": n_tokens,
                "elapsed_s": elapsed_s,
                "load_s": load_s,
                "cores": cpu_s / elapsed_s,
                "peak_mb": peak_kib * 1024 / 1e6,
                "bleu": bleu,
                "layout": f"1 x {torch.get_num_threads()}",
                "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
            }
        )
    )


def read_lines(file: Path) -> list[str]:
    """Lines end at LF only."""
    with file.open(encoding="utf-8", newline="\n") as stream:
        return [line.rstrip("\n") for line in stream]


class Marian:
    """The model and its tokenizer."""

    def __init__(self, directory: Path, dtype: torch.dtype, beam_size: int, batch_size: int) -> None:
        settings = json.loads((directory / "config.json").read_text(encoding="utf-8"))["config"]
        self.tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(directory / "tokenizer.model"))
        self.model = marian(settings["model"], load_file(directory / "model.safetensors"), len(self.tokenizer))
        self.model.to(dtype).eval()
        self.decoding = settings["decoding"]
        self.max_length = settings["model"]["max_length"]
        self.beam_size = beam_size
        self.batch_size = batch_size

    def translate(self, lines: list[str]) -> tuple[list[str], int]:
        """Translate text, longest lines first. Also count the tokens of the translations, with eos."""
        sources = self.tokenizer.encode(lines)
        order = sorted((i for i, source in enumerate(sources) if source), key=lambda i: -len(sources[i]))
        texts, n_tokens = [""] * len(lines), 0
        for begin in range(0, len(order), self.batch_size):
            indices = order[begin : begin + self.batch_size]
            targets = self._generate([[*sources[i], EOS] for i in indices])
            # Rows are filled up with eos rather than pad: `generate` takes a pad of 0 for none.
            n_tokens += int((targets > EOS).sum() + (targets == EOS).any(1).sum())
            for index, target in zip(indices, targets.tolist(), strict=True):
                texts[index] = self.tokenizer.decode([token for token in target if token > EOS])
        return texts, n_tokens

    def _generate(self, sources: list[list[int]]) -> Tensor:
        """(B, T) token ids, each row beginning with bos."""
        longest = max(len(source) for source in sources)
        src = torch.tensor([source + [PAD] * (longest - len(source)) for source in sources])
        # What our own search allows the longest source of the batch.
        limit = int(self.decoding["max_length_a"] * (longest - 1) + self.decoding["max_length_b"])
        with torch.inference_mode():
            return self.model.generate(
                input_ids=src,
                attention_mask=(src != PAD).long(),
                num_beams=self.beam_size,
                do_sample=False,
                length_penalty=1.0,
                max_new_tokens=min(limit, self.max_length - 1),
            )


def marian(settings: dict[str, Any], weights: dict[str, Tensor], vocab_size: int) -> MarianMTModel:
    """Our Transformer as a Marian one: the same function.

    Args:
        settings: the section `model` of our configuration.
        weights: under our names.
    """
    needed = {"norm": "post", "activation": "relu", "positions": "sinusoidal", "embeddings": "shared"}
    if others := [f"{name}={settings[name]}" for name, value in needed.items() if settings[name] != value]:
        sys.exit(f"Marian has no {', '.join(others)}; it needs " + ", ".join(f"{n}={v}" for n, v in needed.items()))
    model = MarianMTModel(marian_config(settings, vocab_size))
    model.load_state_dict(renamed(settings, weights, vocab_size))  # strict: every weight of Marian is given
    model.generation_config.update(
        pad_token_id=PAD, bos_token_id=BOS, eos_token_id=EOS, decoder_start_token_id=BOS, forced_eos_token_id=None
    )
    return model


def renamed(settings: dict[str, Any], weights: dict[str, Tensor], vocab_size: int) -> dict[str, Tensor]:
    """Our weights under Marian's names. Biases that we do not have are zero."""
    ours = {name.removeprefix("model."): weight.float() for name, weight in weights.items()}
    theirs: dict[str, Tensor] = {}

    def attention(source: str, target: str) -> None:
        for name, their_name in (("to_q", "q_proj"), ("to_k", "k_proj"), ("to_v", "v_proj"), ("to_out", "out_proj")):
            weight = theirs[f"{target}.{their_name}.weight"] = ours[f"{source}.{name}.weight"]
            theirs[f"{target}.{their_name}.bias"] = torch.zeros(len(weight))

    def same(source: str, target: str) -> None:
        for kind in ("weight", "bias"):
            theirs[f"{target}.{kind}"] = ours[f"{source}.{kind}"]

    for side in ("encoder", "decoder"):
        theirs[f"model.{side}.embed_positions.weight"] = sinusoids(settings["max_length"], settings["d_model"])
        theirs[f"model.{side}.embed_tokens.weight"] = ours["embeddings.tables.shared"]
        for number in range(settings[f"n_{side}_layers"]):
            layer, to = f"{side}.layers.{number}", f"model.{side}.layers.{number}"
            attention(f"{layer}.self_attention", f"{to}.self_attn")
            same(f"{layer}.around_self_attention.norm", f"{to}.self_attn_layer_norm")
            if side == "decoder":
                attention(f"{layer}.cross_attention", f"{to}.encoder_attn")
                same(f"{layer}.around_cross_attention.norm", f"{to}.encoder_attn_layer_norm")
            same(f"{layer}.feed_forward.to_hidden", f"{to}.fc1")
            same(f"{layer}.feed_forward.to_out", f"{to}.fc2")
            same(f"{layer}.around_feed_forward.norm", f"{to}.final_layer_norm")
    theirs["model.shared.weight"] = theirs["lm_head.weight"] = ours["embeddings.tables.shared"]
    theirs["final_logits_bias"] = torch.zeros(1, vocab_size)
    theirs["final_logits_bias"][:, [PAD, UNK, BOS]] = NEVER
    return theirs


def sinusoids(max_length: int, d_model: int) -> Tensor:
    """(L, D), sine and cosine in turn, as our model has them; Marian's own table has all sines first."""
    frequencies = 10000 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)  # (D/2,)
    angles = torch.outer(torch.arange(max_length, dtype=torch.float64), frequencies)  # (L, D/2)
    table = torch.empty(max_length, d_model)
    table[:, 0::2], table[:, 1::2] = angles.sin(), angles.cos()
    return table


if __name__ == "__main__":
    main()
