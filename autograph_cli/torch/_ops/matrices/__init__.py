"""Products, factors and systems of matrices, and transforms."""
