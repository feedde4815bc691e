"""Dispatch, the compiled tape, views, in-place changes, autocast."""
