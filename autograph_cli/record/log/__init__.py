"""What happened, as plain data: events, steps, the ledger of training, and what of it is forgotten."""
