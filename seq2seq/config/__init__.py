"""What a run is: typed sections with their defaults and checks, one file for each section.

Hydra composes the files under `conf/`. `read_config` turns the result once into these objects, and nothing after
that knows Hydra. A default stands here and nowhere else. The site lists every key (docs/reference.py).
"""

from seq2seq.config.batch import BatchConfig
from seq2seq.config.clean import CleanConfig
from seq2seq.config.data import BUNDLED, DataConfig
from seq2seq.config.decoding import DecodingConfig
from seq2seq.config.logger import LoggerConfig
from seq2seq.config.model import DROPOUTS, ModelConfig
from seq2seq.config.optim import OptimConfig
from seq2seq.config.read import kept, read_config, unknown_key
from seq2seq.config.run import RunConfig
from seq2seq.config.sources import CORPUS, SourceFiles, SourcePath, SourceSpec, is_named
from seq2seq.config.tokenizer import TokenizerConfig
from seq2seq.config.trainer import TrainerConfig

__all__ = [
    "BUNDLED",
    "CORPUS",
    "DROPOUTS",
    "BatchConfig",
    "CleanConfig",
    "DataConfig",
    "DecodingConfig",
    "LoggerConfig",
    "ModelConfig",
    "OptimConfig",
    "RunConfig",
    "SourceFiles",
    "SourcePath",
    "SourceSpec",
    "TokenizerConfig",
    "TrainerConfig",
    "is_named",
    "kept",
    "read_config",
    "unknown_key",
]
