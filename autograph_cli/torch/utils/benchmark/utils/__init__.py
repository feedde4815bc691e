"""The parts of `torch.utils.benchmark`, under the names of PyTorch's modules."""
