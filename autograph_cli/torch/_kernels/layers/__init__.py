"""Kernels of layers: windows of images, normalizations, attention, recurrent layers, losses."""
