"""Kernels that make few elements of many, or put them in order."""
