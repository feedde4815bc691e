"""`vmap` of functions of tensors, above the operations."""
