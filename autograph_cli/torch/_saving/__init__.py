"""PyTorch's file format: an archive of records, and the pickle in it."""
