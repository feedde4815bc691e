"""Records of operations, their formulas, and their public names."""
