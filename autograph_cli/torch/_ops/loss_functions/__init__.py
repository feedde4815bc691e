"""Losses, and the operations that they are made of."""
