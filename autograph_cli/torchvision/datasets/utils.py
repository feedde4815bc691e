"""`torchvision.datasets.utils`: downloads that are whole or not there, checksums, archives that stay in their
folder."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import sys
import tarfile
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from typing import IO, Any

from autograph_cli.atomic_files import atomic_write

__all__ = [
    "calculate_md5", "check_integrity", "check_md5", "download_and_extract_archive", "download_url",
    "extract_archive",
]  # fmt: skip

_PIECE = 1 << 20
_PATIENCE = 30.0
"""Seconds without an answer."""


def calculate_md5(fpath: str | Path, chunk_size: int = _PIECE) -> str:
    """The MD5 of a file, as 32 hexadecimal digits; it tells damage, not malice."""
    md5 = hashlib.md5(usedforsecurity=False)
    with open(fpath, "rb") as file:
        while piece := file.read(chunk_size):
            md5.update(piece)
    return md5.hexdigest()


def check_md5(fpath: str | Path, md5: str, **kwargs: Any) -> bool:
    """Return whether a file has this MD5."""
    return md5 == calculate_md5(fpath, **kwargs)


def check_integrity(fpath: str | Path, md5: str | None = None) -> bool:
    """Return whether there is such a file, with this MD5 if one is given."""
    return os.path.isfile(fpath) and (md5 is None or check_md5(fpath, md5))


def download_url(
    url: str, root: str | Path, filename: str | Path | None = None, md5: str | None = None, max_redirect_hops: int = 3
) -> None:
    """Bring a file into the folder `root`, unless it is there with its MD5; how far it is stands on a terminal's
    stderr.

    RuntimeError where it cannot be reached, or is not the file that was meant; nothing is left behind then.
    """
    root = os.path.expanduser(root)
    path = os.path.join(root, os.path.basename(url) if not filename else os.fspath(filename))
    os.makedirs(root, exist_ok=True)
    if check_integrity(path, md5):
        return
    with atomic_write(path) as file:
        try:
            found = _fetch(url, file)
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            raise RuntimeError(
                f"{url} cannot be downloaded ({reason}): without a network, put the file at {path} yourself"
            ) from None
        if md5 is not None and found != md5:
            raise RuntimeError(f"File not found or corrupted: what {url} sent does not have the MD5 {md5}")


def _fetch(url: str, file: IO[bytes]) -> str:
    """Copy what the address has into the file; its MD5."""
    if not url.startswith(("http://", "https://")):
        raise ValueError("not a web address")
    request = urllib.request.Request(url, headers={"User-Agent": "autograph"})
    with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:
        total, got, md5 = int(answer.headers.get("Content-Length") or 0), 0, hashlib.md5(usedforsecurity=False)
        while piece := answer.read(_PIECE):
            file.write(piece)
            md5.update(piece)
            got += len(piece)
            _show(url, got, total)
        if got < total:
            raise ValueError(f"it ended after {got} of {total} bytes")
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return md5.hexdigest()


def _show(url: str, got: int, total: int) -> None:
    if sys.stderr.isatty():
        share = f"{100 * got // total:3d} %" if total else f"{got >> 20} MiB"
        print(f"\r{os.path.basename(url)} {share}", end="", file=sys.stderr, flush=True)


def extract_archive(
    from_path: str | Path, to_path: str | Path | None = None, remove_finished: bool = False
) -> str | Path:
    """Unpack a .tar, .tar.gz, .tgz, .zip or .gz file into a folder, by default its own; where it went.

    RuntimeError for another kind, a damaged file, and an archive that would write outside of the folder, or links.
    """
    source = os.fspath(from_path)
    folder = os.path.dirname(source) if to_path is None else os.fspath(to_path)
    name = source.lower()
    try:
        if name.endswith((".tar", ".tar.gz", ".tgz")):
            _unpack_tar(source, folder)
        elif name.endswith(".zip"):
            _unpack_zip(source, folder)
        elif name.endswith(".gz"):
            folder = _unpack_gz(source, to_path)
        else:
            raise RuntimeError(f"{source} is no archive that can be unpacked: .tar, .tar.gz, .tgz, .zip or .gz")
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, gzip.BadGzipFile) as error:
        raise RuntimeError(f"{source} is damaged: {error}") from None
    if remove_finished:
        os.remove(source)
    return folder


def download_and_extract_archive(
    url: str,
    download_root: str | Path,
    extract_root: str | Path | None = None,
    filename: str | Path | None = None,
    md5: str | None = None,
    remove_finished: bool = False,
) -> None:
    """`download_url`, then `extract_archive`, by default into the same folder."""
    download_root = os.path.expanduser(download_root)
    name = os.path.basename(url) if not filename else os.fspath(filename)
    download_url(url, download_root, name, md5)
    extract_archive(os.path.join(download_root, name), extract_root or download_root, remove_finished)


def _inside(folder: str, name: str) -> str:
    """The position of a member of an archive; RuntimeError where it is not within the folder."""
    root = os.path.realpath(folder)
    position = os.path.realpath(os.path.join(root, name))
    if os.path.isabs(name) or os.path.commonpath((root, position)) != root:
        raise RuntimeError(f"the archive is refused: {name!r} would be written outside of {folder}")
    return position


def _write(position: str, data: IO[bytes] | gzip.GzipFile) -> None:
    os.makedirs(os.path.dirname(position), exist_ok=True)
    with atomic_write(position) as file:
        shutil.copyfileobj(data, file, _PIECE)


def _unpack_tar(source: str, folder: str) -> None:
    with tarfile.open(source) as archive:
        members = archive.getmembers()
        for member in members:
            if not (member.isfile() or member.isdir()):
                raise RuntimeError(f"the archive is refused: {member.name!r} is neither a file nor a folder")
        positions = [_inside(folder, member.name) for member in members]
        for member, position in zip(members, positions, strict=True):
            data = archive.extractfile(member)
            if data is None:
                os.makedirs(position, exist_ok=True)
            else:
                _write(position, data)


def _unpack_zip(source: str, folder: str) -> None:
    with zipfile.ZipFile(source) as archive:
        positions = [_inside(folder, info.filename) for info in archive.infolist()]
        for info, position in zip(archive.infolist(), positions, strict=True):
            if info.is_dir():
                os.makedirs(position, exist_ok=True)
            else:
                with archive.open(info) as data:
                    _write(position, data)


def _unpack_gz(source: str, to_path: str | Path | None) -> str:
    """A single file: into a folder, or to a path of another name."""
    name = os.path.basename(source)[: -len(".gz")]
    goal = os.path.join(os.path.dirname(source), name) if to_path is None else os.fspath(to_path)
    goal = os.path.join(goal, name) if os.path.isdir(goal) else goal
    with gzip.open(source) as data:
        _write(goal, data)
    return goal
