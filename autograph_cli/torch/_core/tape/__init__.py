"""Tensors, nodes, and the tensors that nodes save."""
