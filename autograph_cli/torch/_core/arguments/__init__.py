"""Arguments of public functions, read and refused as PyTorch does."""
