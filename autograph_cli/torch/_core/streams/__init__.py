"""Random numbers, bit by bit those of PyTorch."""
