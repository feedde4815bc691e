"""Running a user's file: what it imports, where, on which ranks, and the traces that are kept of it."""
