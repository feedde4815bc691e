"""The content of a picture before anything in it has a place: boxes, arrows, frames, labels and colours."""
