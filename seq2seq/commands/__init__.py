"""The commands: one file each, with its options and its words. What they do is elsewhere."""
