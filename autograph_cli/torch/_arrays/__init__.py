"""What stands in the place of an array: without memory, read conjugated, sparse, batched, or of a class of its own."""
