"""The traces of several ranks in one file: a ZIP archive with one member for each, and `ranks.json`, the list of them.

Each rank writes its own part; the parts are joined as streams, so that no process holds the traces of several ranks.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from autograph_cli.atomic_files import atomic_write
from autograph_cli.graph import Trace, TraceError, from_json, read_trace, to_json, write_trace
from autograph_cli.graph.ranks import Rank, summary
from autograph_cli.graph.trace_file import check_unpacked

LIST = "ranks.json"
FORMAT, VERSION = "autograph-ranks", 1
BLOCK = 1 << 20
"""Bytes that are copied at once."""


def write_part(trace: Trace, folder: Path) -> Path:
    """Write the trace of one rank beside those of the others, and what the list says of it."""
    name = f"rank-{trace.rank}"
    about = summary(trace, f"{name}.json.gz")
    with atomic_write(folder / f"{name}.part") as file:
        write_trace(trace, file, compressed=True)
    # The list's entry comes last: where it is, the part is whole. As a trace, for what it has of one.
    entry = replace(trace, steps=(), notices=(), watched=())
    told = {"drawn": about.drawn, "built": about.built, "nodes": about.nodes, "trace": to_json(entry)}
    with atomic_write(folder / f"{name}.entry") as file:
        file.write(json.dumps(told).encode())
    return folder / f"{name}.part"


def parts(folder: Path) -> list[int]:
    """The ranks whose parts are there and whole."""
    return sorted(int(path.stem.removeprefix("rank-")) for path in folder.glob("rank-*.entry"))


def send_to_first(world: Any, folder: Path, host: str) -> None:
    """Bring the parts of ranks on other hosts to rank 0, in blocks by MPI; all ranks of the world call this."""
    comm = world.Dup()
    hosts = comm.allgather(host)
    for rank in [rank for rank, its in enumerate(hosts) if its != hosts[0]]:
        for name in (f"rank-{rank}.part", f"rank-{rank}.entry"):
            if comm.rank == rank:
                with open(folder / name, "rb") as file:
                    while block := file.read(BLOCK):
                        comm.send(block, 0)
                comm.send(b"", 0)
            elif comm.rank == 0:
                with atomic_write(folder / name) as file:
                    while block := comm.recv(source=rank):
                        file.write(block)
    comm.Free()


def nodes_of(folder: Path, rank: int) -> int:
    """The number of nodes in a rank's part."""
    return int(json.loads((folder / f"rank-{rank}.entry").read_bytes())["nodes"])


def join(folder: Path, ranks: int, goal: Path, *, follow: bool = True) -> list[int]:
    """Make one file of all parts that are there; returns the ranks that are in it. See `atomic_write` for `follow`."""
    found = parts(folder)
    with atomic_write(goal, follow=follow) as file, zipfile.ZipFile(file, "w") as archive:
        entries = []
        for rank in found:
            name = f"rank-{rank}"
            with (
                open(folder / f"{name}.part", "rb") as part,
                archive.open(f"{name}.json.gz", "w", force_zip64=True) as member,
            ):
                shutil.copyfileobj(part, member, BLOCK)
            entry = json.loads((folder / f"{name}.entry").read_bytes())
            entries.append(entry | {"rank": rank, "file": f"{name}.json.gz"})
        whole = {"format": FORMAT, "version": VERSION, "ranks": ranks, "members": entries}
        with archive.open(LIST, "w") as member:  # which tells no time
            member.write(json.dumps(whole, indent=1).encode())
    return found


def holds_ranks(path: Path) -> bool:
    """Return whether the file holds the traces of several ranks."""
    return zipfile.is_zipfile(path)


def ranks_in(path: Path) -> list[Rank]:
    """The ranks whose traces are in a file; raises `TraceError` for one that is damaged, or of a newer version."""
    try:
        with zipfile.ZipFile(path) as archive:
            data = json.loads(_read(archive, LIST, str(path)))
        if data["format"] != FORMAT:
            raise TraceError(f"{path} is not an autograph trace.")
        if data["version"] > VERSION:
            raise TraceError(f"{path} has version {data['version']} of the list of ranks: a newer autograph wrote it.")
        return [_entry(row, str(path)) for row in data["members"]]
    except (zipfile.BadZipFile, KeyError, TypeError, ValueError) as error:
        raise TraceError(f"{path} is damaged: its list of ranks cannot be read ({error}).") from None


def _read(archive: zipfile.ZipFile, member: str, name: str) -> bytes:
    about = archive.getinfo(member)
    check_unpacked(about.compress_size, about.file_size, name)
    return archive.read(about)


def _entry(row: dict[str, object], name: str) -> Rank:
    trace = from_json(str(row["trace"]), name)
    number, file, drawn, built = int(str(row["rank"])), str(row["file"]), str(row["drawn"]), str(row["built"])
    nodes = int(str(row["nodes"]))
    return Rank(number, file, drawn, built, nodes, trace.failure, trace.failed_at, trace.collectives)


def read_rank(path: Path, rank: int | None, ranks: Iterable[Rank]) -> Trace:
    """The trace of one rank, by default of the first; raises `TraceError` where the file has none of it."""
    known = {each.rank: each for each in ranks}
    chosen = min(known, default=None) if rank is None else rank
    if chosen not in known:
        raise TraceError(f"There is no rank {chosen} in {path}; it has {', '.join(map(str, known)) or 'none'}.")
    member = known[chosen].file
    try:
        with zipfile.ZipFile(path) as archive:
            return read_trace(_read(archive, member, f"{path}, {member}"), f"{path}, {member}")
    except (zipfile.BadZipFile, KeyError, OSError, ValueError) as error:
        raise TraceError(f"{path} is damaged: {member} cannot be read ({error}).") from None
