"""What is measured beside the graph: numbers, times, memory, checks of derivatives."""
