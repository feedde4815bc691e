"""The layout of a picture: rows, orders and positions, ways of arrows, columns."""
