"""Export a classifier, as safetensors alone."""

from pathlib import Path

from seq2seq.artifacts.model_card import model_card
from seq2seq.artifacts.model_directory import is_model_directory, write_model_directory, write_safetensors
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.errors import ConfigError
from seq2seq.export.options import ExportOptions
from seq2seq.export.stored import check_finite, read_back


def export_classifier(options: ExportOptions) -> Path:
    """Write a model directory, compare it bit for bit with the model, and return its path.

    Raises:
        ConfigError: something is asked for that only a translation model has.
        ParityError, CheckpointError: as `export`.
    """
    if options.formats != ("safetensors",):
        raise ConfigError(
            f"{options.source} is a classifier, and CTranslate2 has none with a pool over positions; use --format "
            "safetensors"
        )
    if options.parity_input or options.parity_reference:
        raise ConfigError("--parity-input compares translations, and a classifier makes none; leave it out")
    trained = TrainedModel.read(options.source)
    check_finite(trained)
    model = trained.build_classifier()
    run = None if is_model_directory(options.source) else RunDirectory.of_checkpoint(trained.path)
    output = options.output or (run.export if run else options.source.parent) / options.label

    def write_weights(directory: Path) -> None:
        write_safetensors(directory, trained.weights, trained.tokenizer.fingerprint)
        read_back(trained, directory).build_classifier()
        print(f"safetensors: {len(trained.weights)} tensors equal bit for bit")

    lines = ["`model.safetensors`: weights for PyTorch"]
    card = model_card(
        trained.config,
        model.n_parameters,
        trained.tokenizer.vocab_size,
        lines,
        run,
        labels=trained.saved.labels,
    )
    write_model_directory(output, trained.saved, card, write_weights, overwrite=options.overwrite)
    return output
