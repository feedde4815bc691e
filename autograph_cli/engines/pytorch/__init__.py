"""An installed PyTorch, as a recorder hears it."""
