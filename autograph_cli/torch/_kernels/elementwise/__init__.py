"""Kernels that work on each element alone."""
