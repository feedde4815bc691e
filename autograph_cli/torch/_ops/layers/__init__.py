"""The operations of layers."""
