"""The commands: one file each, with its options and their help. Other folders do the work."""
