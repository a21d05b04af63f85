"""What a run leaves behind: one module for each form on disk."""
