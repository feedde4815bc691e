"""What `torch.utils.benchmark` is made of, under the names of PyTorch's modules."""
