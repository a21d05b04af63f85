"""What finished runs say side by side."""
