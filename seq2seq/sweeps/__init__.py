"""Many runs: the jobs of a sweep, and the trials of a search. Each is a process of its own."""
