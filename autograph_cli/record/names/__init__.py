"""Names of the script: variables, lines, modules."""
