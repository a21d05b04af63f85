"""What a run leaves behind. Each form on disk has one module, whose docstring draws it."""
