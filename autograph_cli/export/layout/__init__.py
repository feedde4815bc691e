"""Where everything in a picture is: rows, orders and positions, ways of arrows, columns."""
