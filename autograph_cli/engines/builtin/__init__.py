"""The engine of this package, as a recorder hears it."""
