import pytest

from tests.training.tiny_runs import write_corpus


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    """A small corpus with the cache of what is prepared from it."""
    return write_corpus(tmp_path_factory.mktemp("corpus"), n_train=60)
