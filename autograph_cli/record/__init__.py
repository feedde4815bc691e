"""Runs a user's file and turns what happened into graphs: the runner, the recorder, the trace store."""
