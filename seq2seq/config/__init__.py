"""What a run is: typed sections with their defaults and checks."""

from seq2seq.config.run import (
    DROPOUTS,
    BatchConfig,
    DataConfig,
    DecodingConfig,
    LoggerConfig,
    ModelConfig,
    OptimConfig,
    RunConfig,
    TokenizerConfig,
    TrainerConfig,
    describe,
    read_config,
    unknown_key,
)

__all__ = [
    "DROPOUTS",
    "BatchConfig",
    "DataConfig",
    "DecodingConfig",
    "LoggerConfig",
    "ModelConfig",
    "OptimConfig",
    "RunConfig",
    "TokenizerConfig",
    "TrainerConfig",
    "describe",
    "read_config",
    "unknown_key",
]
