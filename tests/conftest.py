import pytest


def pytest_configure(config: pytest.Config) -> None:
    # Lightning 2.6 with torch 2.13: about Lightning's own code, or about validation that a test leaves out.
    for message in ("isinstance.treespec, LeafSpec.* is deprecated", "You defined a `validation_step` but have no"):
        config.addinivalue_line("filterwarnings", f"ignore:.*{message}")
