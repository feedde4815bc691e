"""A scene made smaller: loops rolled, modules closed, chains and equal modules folded, arrows bundled."""
