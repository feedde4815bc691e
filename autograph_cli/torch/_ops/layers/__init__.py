"""What layers compute."""
