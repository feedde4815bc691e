"""docs/trace.schema.json is that of the records, and what is written, now and by earlier versions, keeps to it."""

from __future__ import annotations

import importlib.util
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autograph_cli.graph import TraceError, from_json, read_snapshot, to_json
from autograph_cli.graph.snapshot import VERSION as SNAPSHOT_VERSION
from autograph_cli.graph.trace_writer import VERSION
from autograph_cli.record.run.runner import Target, record
from tests.conftest import ROOT

KEPT = sorted((ROOT / "tests" / "data" / "versions").glob("*.json"))


@pytest.fixture(scope="module")
def schema() -> Any:
    return json.loads((ROOT / "docs" / "trace.schema.json").read_text("utf-8"))


def test_the_schema_is_that_of_the_records() -> None:
    spec = importlib.util.spec_from_file_location("make_schema", ROOT / "docs" / "make_schema.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (ROOT / "docs" / "trace.schema.json").read_text("utf-8") == module.text(), "run python docs/make_schema.py"


@pytest.mark.parametrize("recorded", [set(), {"values", "time", "flops", "memory", "formula", "inside"}])
def test_what_a_run_writes_keeps_to_the_schema(schema: Any, recorded: set[str], capsys: Any) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    trace = record(Target.of(str(ROOT / "samples" / "penalty.py")), record=recorded)[1]
    jsonschema.Draft202012Validator(schema).validate(json.loads(to_json(trace)))


def test_the_schema_refuses_what_the_reader_refuses(schema: Any) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    plain = json.loads(KEPT[-1].read_text("utf-8"))
    node = plain["steps"][0]["graph"]["nodes"][0]
    for change in ({"kind": "other"}, {"strange": 1}, {"outputs": [{"type": "float32"}]}, {"order": -1}):
        broken = json.loads(json.dumps(plain))
        broken["steps"][0]["graph"]["nodes"][0] = node | change
        assert not jsonschema.Draft202012Validator(schema).is_valid(broken), change


STRANGE = (
    *(None, -1, 0, 1.5, 2.0, True, 1 << 63, -1 << 70, float("nan"), float("inf")),
    *("", "x", "nan", "leaf", "float32[3]", "float32[ 3]", "\ud800"),
    *([], {}, [0], [0, 0], [0, 0, 0], [None], ["a", "b"], [["a", "b"]], {"strange": 1}),
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each container of a text in JSON with each of its keys."""
    for key in value if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from places(value[key])


def test_whatever_is_changed_is_read_as_the_schema_says_or_refused_in_one_sentence(schema: Any) -> None:
    validator = pytest.importorskip("jsonschema").Draft202012Validator(schema)
    text = KEPT[-1].read_text("utf-8")
    chance = random.Random(7)
    for _ in range(int(os.environ.get("AUTOGRAPH_TRACES", "300"))):
        data = json.loads(text)
        value, key = chance.choice(list(places(data)))
        value[key] = chance.choice(STRANGE)
        try:
            from_json(json.dumps(data))
        except TraceError as error:
            assert str(error).count("\n") == 0
        else:
            assert validator.is_valid(data), (key, value[key])


_LAST = (("trace", VERSION), ("snapshot", SNAPSHOT_VERSION))


@pytest.mark.parametrize("file", KEPT, ids=lambda file: file.stem)
def test_a_trace_of_each_version_is_read(file: Path) -> None:
    trace = from_json(file.read_text("utf-8"), file.name)
    assert trace.steps[0].graph.roots
    assert from_json(to_json(trace)) == trace


def test_there_is_a_trace_of_each_version_and_a_snapshot() -> None:
    kept = {path.name.split(".")[0] for path in KEPT[0].parent.iterdir()}
    assert kept == {f"{kind}-{n}" for kind, last in _LAST for n in range(1, last + 1)}


def test_a_snapshot_of_each_version_is_read() -> None:
    for file in sorted((ROOT / "tests" / "data" / "versions").glob("*.graph.txt")):
        assert read_snapshot(file.read_text("utf-8"), file.name).sections
