"""`torch.hub`: models from a local folder with a `hubconf.py`; nothing is downloaded."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NoReturn
from urllib.parse import urlparse

from . import serialization

__all__ = [
    "download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir",
]  # fmt: skip
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
"""The digest in a file's name: `resnet18-f37072fd.pth`."""
_chosen: dict[str, str] = {}


def get_dir() -> str:
    """The folder that holds downloads: the one set last, or `hub` in `$TORCH_HOME` (`~/.cache/torch`)."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))
    return _chosen.get("dir") or os.path.join(os.path.expanduser(home), "hub")


def set_dir(d: Any) -> None:
    """Hold downloads in another folder."""
    _chosen["dir"] = os.path.expanduser(os.fspath(d))


def load(
    repo_or_dir: Any,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = None,
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """Return what the function `model` of the folder's `hubconf.py` makes of the other arguments.

    RuntimeError for `source="github"` (the default), as nothing is downloaded, and for a name that is not there.
    """
    with _opened(repo_or_dir, source) as conf:
        return _entry(conf, model)(*args, **kwargs)


def list(
    github: Any,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = None,
    source: str = "local",
) -> Any:
    """The functions that a folder's `hubconf.py` offers: its public names that can be called."""
    with _opened(github, source) as conf:
        return [name for name in dir(conf) if callable(getattr(conf, name)) and not name.startswith("_")]


def help(
    github: Any,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = None,
    source: str = "local",
) -> Any:
    """The docstring of a function that a folder's `hubconf.py` offers."""
    with _opened(github, source) as conf:
        return _entry(conf, model).__doc__


@contextlib.contextmanager
def _opened(folder: Any, source: str) -> Iterator[ModuleType]:
    """The `hubconf.py` of a folder, run with the folder in front of `sys.path`."""
    source = source.lower()
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    path = os.path.join(os.path.expanduser(os.fspath(folder)), "hubconf.py")
    if source == "github" or not os.path.isfile(path):
        _needs_network(f"there is no {path}; {folder!r}" if source == "local" else repr(folder))
    sys.path.insert(0, os.path.dirname(path))
    try:
        spec = importlib.util.spec_from_file_location("hubconf.py", path)
        assert spec is not None and spec.loader is not None
        conf = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(conf)
        missing = [name for name in getattr(conf, "dependencies", ()) if not _is_there(name)]
        if missing:
            raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
        yield conf
    finally:
        sys.path.remove(os.path.dirname(path))


def _is_there(name: str) -> bool:
    return name in sys.modules or importlib.util.find_spec(name) is not None


def _entry(conf: ModuleType, name: str) -> Any:
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    result = getattr(conf, name, None)
    if not callable(result):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return result


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """Return what the file of this URL holds, if it is in `model_dir` (`checkpoints` in the hub's folder) already."""
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    path = os.path.join(folder, file_name or os.path.basename(urlparse(url).path))
    if not os.path.exists(path):
        _needs_network(f"put the file of {url} at {path}; it")
    return serialization.load(path, map_location=map_location, weights_only=weights_only)


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> NoReturn:
    """RuntimeError: nothing is downloaded."""
    _needs_network(url)


def _needs_network(what: str) -> NoReturn:
    raise RuntimeError(
        f"torch.hub does not download in autograph's engine: {what} must be on this machine; a local folder with a "
        "hubconf.py is "
        'loaded by torch.hub.load(folder, model, source="local")'
    )
