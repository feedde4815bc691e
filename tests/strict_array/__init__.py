"""A stand-in for CuPy that runs on NumPy and keeps CuPy's rules, so that the device "cuda" is tested without a GPU."""
