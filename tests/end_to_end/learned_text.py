"""What the trained model can translate."""

from tests.translating import sentences

SOURCES, REFERENCES = (list(sides) for sides in zip(*sentences(23, seed=3), strict=True))
