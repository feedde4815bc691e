"""What things are called in the script: variables, lines, modules."""
