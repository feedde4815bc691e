"""The log of a run as plain data: events, steps, the ledger of training, and forgetting."""
