"""`torch.hub`: models are not downloaded here; what a script asks for at its top is there and says so."""

from __future__ import annotations

import os
from typing import Any, NoReturn

__all__ = [
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]
_chosen: dict[str, str] = {}


def get_dir() -> str:
    """The folder that holds downloads: the one set last, or `hub` in `$TORCH_HOME` (`~/.cache/torch`)."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))
    return _chosen.get("dir") or os.path.join(os.path.expanduser(home), "hub")


def set_dir(d: Any) -> None:
    """Hold downloads in another folder."""
    _chosen["dir"] = os.path.expanduser(os.fspath(d))


def _needs_network(*args: Any, **options: Any) -> NoReturn:
    """RuntimeError: nothing is downloaded."""
    raise RuntimeError(
        "torch.hub does not download models in autograph's engine: get the file of their state_dict yourself and read it with "
        "torch.load"
    )


load = list = help = load_state_dict_from_url = download_url_to_file = _needs_network
