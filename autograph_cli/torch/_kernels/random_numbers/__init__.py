"""Random numbers, and the gradients of what is drawn."""
