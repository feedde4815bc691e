"""Forward mode, reverse mode and batching above the tape."""
