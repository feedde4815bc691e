"""Products, factors, systems and transforms of matrices."""
