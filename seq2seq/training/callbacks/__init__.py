"""What happens around the steps of a run, one Lightning callback a file."""
