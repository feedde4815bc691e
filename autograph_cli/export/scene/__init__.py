"""What a picture shows, before anything in it has a place: boxes, arrows, frames, labels and colours."""
