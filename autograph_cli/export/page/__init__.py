"""The page with all views of a step: its HTML, its data, and the scripts and the style that run in it."""
