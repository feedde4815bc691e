"""The forward graph as an ONNX model."""
