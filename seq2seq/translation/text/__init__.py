"""Text around the model: what a sentence is, how it is written, whether a translation looks right."""
