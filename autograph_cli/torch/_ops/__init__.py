"""The operations, family by family; importing this package defines them all."""
