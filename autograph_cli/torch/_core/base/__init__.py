"""Dtypes, devices, sizes, modes of a thread, errors: modules that the others stand on."""
