"""The engines that a recorder can follow: what it is told of them (`protocol.py`), and each of them as it is told."""
