"""Files that want more than to be read: each is refused before anything in it runs."""

import io
import os
import pickle
import re
import struct
import time
import tracemalloc
import zipfile

import pytest

from autograph_cli import torch
from tests.cases import for_each

PROTO, STOP, MARK = b"\x80\x02", b".", b"("


def text(s):
    data = s.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def name(module, attribute):
    return f"c{module}\n{attribute}\n".encode()


def number(n):
    return b"J" + struct.pack("<i", n)


def big(n):
    data = pickle.encode_long(n)
    return b"\x8a" + bytes([len(data)]) + data


def call(function, *args):
    return function + MARK + b"".join(args) + b"tR"


def storage(key="0", kind="FloatStorage", length=4, location="cpu"):
    return MARK + text("storage") + name("torch", kind) + text(key) + text(location) + big(length) + b"tQ"


def tensor(position, offset=0, size=(4,), stride=(1,)):
    def numbers(values):
        return MARK + b"".join(map(big, values)) + b"t"

    return call(
        name("torch._utils", "_rebuild_tensor_v2"), position, big(offset), numbers(size), numbers(stride), b"\x89", b"N"
    )


def archive(body, compression=zipfile.ZIP_STORED, **records):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as made:
        made.writestr("archive/data.pkl", body)
        for key, data in {"version": b"3\n", "data/0": bytes(16), **records}.items():
            made.writestr(f"archive/{key}", data)
    file.seek(0)
    return file


class Evil:
    def __init__(self, *reduced):
        self.reduced = reduced

    def __reduce__(self):
        return self.reduced


def evil(function, *args):
    return pickle.dumps({"w": Evil(function, args)}, 2)


touched = []


def touch(*args):
    touched.append(args)


NAMES = name("builtins", "eval") + text("print('hello')")
PICKLES = {
    "os.system": evil(os.system, "echo attacked"),
    "a function of the script": evil(touch, 1),
    "eval": evil(eval, "1 + 1"),
    "exec": evil(exec, "import os"),
    "eval under its old name": PROTO + call(name("__builtin__", "eval"), text("1")) + STOP,
    "eval by getattr": PROTO
    + call(call(name("builtins", "getattr"), name("builtins", "object"), text("eval")), text("1"))
    + STOP,
    "import": PROTO + call(name("builtins", "__import__"), text("os")) + STOP,
    "subprocess": PROTO + call(name("subprocess", "Popen"), text("true")) + STOP,
    "a dotted name": PROTO + call(name("torch", "serialization.os.system"), text("true")) + STOP,
    "a name of ours": PROTO + call(name("autograph_cli.torch.serialization", "load"), text("x")) + STOP,
    "torch.load": PROTO + call(name("torch", "load"), text("x")) + STOP,
    "torch.hub": PROTO + call(name("torch.hub", "load"), text("x")) + STOP,
    "a nested pickle": PROTO + call(name("pickle", "loads"), text("x")) + STOP,
    "a call of a result": PROTO + call(call(name("collections", "OrderedDict")), text("x")) + STOP,
    "a call of a tensor class": PROTO + call(name("torch", "Tensor"), big(10**12)) + STOP,
    "new objects": PROTO + name("torch", "Tensor") + b")\x81" + STOP,
    "attributes of a function": PROTO
    + name("torch._utils", "_rebuild_tensor_v2")
    + b"}"
    + text("__defaults__")
    + b")sb"
    + STOP,
    "slots of a tensor": PROTO + tensor(storage()) + b"N}" + text("_ag_raw") + b"Ns\x86b" + STOP,
    "the state of a class": PROTO + name("torch", "Size") + b"}b" + STOP,
    "text opcodes": b"cos\nsystem\n(S'true'\ntR.",
    "extension codes": PROTO + b"\x82\x01" + STOP,
    "objects by INST": PROTO + b"(ios\nsystem\n" + STOP,
    "objects by OBJ": PROTO + b"(" + name("os", "system") + b"o" + STOP,
    "names by STACK_GLOBAL": b"\x80\x04" + b"\x8c\x02os" + b"\x8c\x06system" + b"\x93" + STOP,
    "a huge bytearray": PROTO + call(name("__builtin__", "bytearray"), big(10**13)) + STOP,
    "a huge complex text": PROTO + call(name("__builtin__", "complex"), text("1"), text("2")) + STOP,
    "bytes by another codec": PROTO + call(name("_codecs", "encode"), text("x"), text("zlib_codec")) + STOP,
    "a key as deep as the stack": PROTO + b"}" + b"N" + b"\x85" * 200_000 + b"Ns" + STOP,
    "no end": PROTO + b"N",
    "nothing on the stack": PROTO + STOP,
    "no mark": PROTO + b"Nt" + STOP,
    "a memo that is not there": PROTO + b"h\x07" + STOP,
    "a storage that is no tuple": PROTO + text("storage") + b"Q" + STOP,
    "a storage of another class": PROTO
    + MARK
    + text("storage")
    + text("list")
    + text("0")
    + text("cpu")
    + big(4)
    + b"tQ"
    + STOP,
    "a storage with a negative length": PROTO + tensor(storage(length=-1)) + STOP,
    "a storage larger than its record": PROTO + tensor(storage(length=10**13), size=(10**13,)) + STOP,
    "a tensor beyond its storage": PROTO + tensor(storage(), size=(5,)) + STOP,
    "a tensor before its storage": PROTO + tensor(storage(), offset=-1) + STOP,
    "a tensor with a wide stride": PROTO + tensor(storage(), size=(2,), stride=(10**9,)) + STOP,
    "a tensor with a negative stride": PROTO + tensor(storage(), size=(2,), stride=(-1,)) + STOP,
    "a tensor of overflowing size": PROTO + tensor(storage(), size=(2**61, 2**61), stride=(0, 0)) + STOP,
    "a tensor of too many dimensions": PROTO + tensor(storage(), size=(1,) * 300, stride=(1,) * 300) + STOP,
    "a tensor with attributes that is none": PROTO
    + call(name("torch._tensor", "_rebuild_from_type_v2"), name("torch", "Size"), name("torch", "Tensor"), b"(t", b"}")
    + STOP,
    "a parameter of text": PROTO + call(name("torch._utils", "_rebuild_parameter"), text("x"), b"\x88", b"N") + STOP,
}


@pytest.mark.parametrize("body", PICKLES.values(), ids=PICKLES)
def test_a_hostile_pickle_is_refused(body, capfd):
    touched.clear()
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        torch.load(archive(body))
    assert touched == []
    assert "attacked" not in capfd.readouterr().out


def test_an_expanded_tensor_takes_no_memory():
    found = torch.load(archive(PROTO + tensor(storage(), size=(2**40, 4), stride=(0, 1)) + STOP))
    assert found.shape == (2**40, 4)


def test_a_record_outside_the_folder_is_not_looked_for():
    with pytest.raises(RuntimeError, match=r"locating file data/\.\./\.\./secret: file not found"):
        torch.load(archive(PROTO + tensor(storage("../../secret")) + STOP))


def test_a_zip_bomb_is_refused_unread():
    bomb = archive(
        PROTO + tensor(storage(length=25_000_000)) + STOP, zipfile.ZIP_DEFLATED, **{"data/0": bytes(100_000_000)}
    )
    with pytest.raises(RuntimeError, match="its records are compressed"):
        torch.load(bomb)


def test_records_that_overlap_are_refused():
    file = archive(PROTO + b"N" + STOP, **{"data/0": bytes(5000)})
    data = file.getvalue()
    with zipfile.ZipFile(file) as made:
        directory, count = made.start_dir, len(made.infolist())
        info = made.infolist()[-1]
    entry = data[data.index(b"PK\x01\x02", data.rindex(b"PK\x01\x02")) : data.rindex(b"PK\x05\x06")]
    assert info.filename == "archive/data/0"
    copies = b"".join(entry.replace(b"archive/data/0", b"archive/data/%c" % digit) for digit in b"123456789")
    size = data.rindex(b"PK\x05\x06") - directory + len(copies)
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count + 9, count + 9, size, directory, 0)
    with pytest.raises(RuntimeError, match="its records are larger than the file"):
        torch.load(io.BytesIO(data[: data.rindex(b"PK\x05\x06")] + copies + end))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_records_of_one_name_are_refused():
    file = archive(PROTO + b"N" + STOP)
    with zipfile.ZipFile(file, "a") as made:
        made.writestr("archive/data.pkl", evil(touch))
    file.seek(0)
    with pytest.raises(RuntimeError, match="two records have the same name"):
        torch.load(file)


def test_a_torchscript_archive_is_refused():
    with pytest.raises(RuntimeError, match=r"TorchScript archives .* cannot be loaded"):
        torch.load(archive(PROTO + b"N" + STOP, **{"constants.pkl": b""}))


def test_an_archive_without_a_pickle_is_refused():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("readme.txt", "hello")
    file.seek(0)
    with pytest.raises(RuntimeError, match=r"failed locating file data.pkl"):
        torch.load(file)


def test_tensors_that_the_engine_lacks_are_named():
    with pytest.raises(RuntimeError, match="quantized tensors are not available"):
        torch.load(archive(PROTO + call(name("torch._utils", "_rebuild_qtensor"), b"N") + STOP))


@pytest.mark.parametrize("parts", [b"N", b"NN", b"N)", b"NK\x01K\x02K\x03\x87"])
def test_a_sparse_tensor_that_is_none_is_refused(parts):
    with pytest.raises((RuntimeError, pickle.UnpicklingError)):
        torch.load(archive(PROTO + call(name("torch._utils", "_rebuild_sparse_tensor"), parts) + STOP))


# ---------------------------------------------------------------- what the user trusts


class Settings:
    def __init__(self, rate):
        self.rate = rate


class Careful(Settings):
    def __setstate__(self, state):
        self.rate = state["rate"] * 2


@pytest.mark.parametrize("kind, rate", [(Settings, 0.5), (Careful, 1.0)])
def test_a_class_may_be_added_as_safe(kind, rate):
    file = io.BytesIO()
    torch.save(kind(0.5), file)
    file.seek(0)
    with torch.serialization.safe_globals([kind]):
        assert torch.load(file).rate == rate
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match=rf"{kind.__name__} was not an allowed global by default"):
        torch.load(file)


def test_a_function_may_be_added_as_safe_and_forgotten():
    body = PROTO + call(name("elsewhere", "twice"), number(3)) + STOP
    torch.serialization.add_safe_globals([(lambda x: 2 * x, "elsewhere.twice")])
    try:
        assert torch.load(archive(body)) == 6
        assert len(torch.serialization.get_safe_globals()) == 1
    finally:
        torch.serialization.clear_safe_globals()
    assert torch.serialization.get_safe_globals() == []


def test_the_names_that_would_be_refused_are_listed():
    found = torch.serialization.get_unsafe_globals_in_checkpoint(archive(evil(eval, "1")))
    assert found == ["builtins.eval"]


def get(position):
    return b"j" + struct.pack("<I", position)


def put(position):
    return b"r" + struct.pack("<I", position)


def deep(depth):
    return b")" + b"\x85" * depth


def lengths(count):
    return MARK + big(1 << 61) * count + b"t"


def rebuilt(size, stride, requires_grad=b"\x89"):
    return call(name("torch._utils", "_rebuild_tensor_v2"), storage(), b"K\x00", size, stride, requires_grad, b"N")


def repeated(thing, function, rest=b"", count=20_000):
    """A list of what a call gives that a large thing is handed to over and over."""
    called = get(1) + MARK + get(0) + rest + b"tR"
    return b"]" + MARK + thing + put(0) + function + put(1) + called * count + b"e"


EXPANDED = rebuilt(MARK + big(10**8) + b"t", MARK + b"K\x00t")
LARGE = text("a" * 200_000)
MERSENNE = 2**61 - 1
"""Numbers that differ by a multiple of this have the same hash."""
DEEP_PLACES = {
    "layout": lambda x: call(name("torch.serialization", "_get_layout"), x),
    "key": lambda x: b"}" + x + b"Ns",
    "set": lambda x: call(name("builtins", "set"), b"]" + x + b"a"),
    "device": lambda x: call(name("torch", "device"), x),
    "size": lambda x: call(name("torch", "Size"), x),
    "reference": lambda x: x + b"Q",
    "word of a reference": lambda x: (
        MARK + x + name("torch", "FloatStorage") + text("0") + text("cpu") + big(4) + b"tQ"
    ),
    "called": lambda x: call(x, b"N"),
    "built": lambda x: x + b"}b",
    "encoding": lambda x: call(name("_codecs", "encode"), text(""), x),
    "bytes": lambda x: call(name("builtins", "bytearray"), x),
    "complex": lambda x: call(name("builtins", "complex"), x, x),
    "parameter": lambda x: call(name("torch._utils", "_rebuild_parameter"), tensor(storage()), x, b"N"),
    "requires_grad": lambda x: rebuilt(MARK + b"K\x04t", MARK + b"K\x01t", x),
    "length": lambda x: rebuilt(x, x),
}


@for_each("depth", [1_000, 100_000])
@for_each("position", DEEP_PLACES)
def test_deep_tuple_is_refused_wherever_it_stands(position, depth):
    with pytest.raises(pickle.UnpicklingError):
        torch.load(archive(PROTO + DEEP_PLACES[position](deep(depth)) + STOP))


@pytest.mark.parametrize("position", DEEP_PLACES)
def test_expanded_tensor_is_not_read_wherever_it_stands(position):
    with pytest.raises(pickle.UnpicklingError):
        torch.load(archive(PROTO + DEEP_PLACES[position](EXPANDED) + STOP))


COSTLY = {
    "many lengths": rebuilt(lengths(100_000), lengths(100_000)),
    "many lengths without memory": call(
        name("torch._utils", "_rebuild_meta_tensor_no_storage"),
        name("torch", "float32"),
        lengths(100_000),
        lengths(100_000),
        b"\x89",
    ),
    "keys of one hash": b"}" + MARK + b"".join(big(n * MERSENNE) + b"N" for n in range(1, 20_000)) + b"u",
    "keys of one hash, one by one": b"}" + b"".join(big(n * MERSENNE) + b"Ns" for n in range(1, 20_000)),
    "set of one hash": call(
        name("builtins", "set"), b"]" + MARK + b"".join(big(n * MERSENNE) for n in range(1, 20_000)) + b"e"
    ),
    "text encoded again and again": repeated(LARGE, name("_codecs", "encode"), text("latin1")),
    "bytes copied": repeated(call(name("_codecs", "encode"), LARGE, text("latin1")), name("builtins", "bytearray")),
    "sets copied": repeated(b"]" + MARK + b"".join(map(number, range(30_000))) + b"e", name("builtins", "set")),
    "sizes copied": repeated(MARK + b"K\x01" * 30_000 + b"t", name("torch", "Size")),
    "attributes copied": b"]"
    + MARK
    + (b"}" + MARK + b"".join(text(str(n)) + b"N" for n in range(20_000)) + b"u" + put(0))
    + (name("collections", "OrderedDict") + put(1))
    + (get(1) + b")R" + get(0) + b"b") * 10_000
    + b"e",
}


@pytest.mark.parametrize("what", COSTLY)
def test_small_file_costs_little(what):
    file = archive(PROTO + COSTLY[what] + STOP)
    began = time.process_time()
    tracemalloc.start()
    try:
        with pytest.raises(pickle.UnpicklingError):
            torch.load(file)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert time.process_time() - began < 10
    assert peak < 200 * file.seek(0, 2)


@pytest.mark.parametrize("order", [b"", b"garbage", b"Little", b"little\n"])
def test_unknown_byte_order_is_refused(order):
    with pytest.raises(ValueError, match=rf"^Unknown endianness type: {order.decode()}$"):
        torch.load(archive(PROTO + b"N" + STOP, byteorder=order))


@pytest.mark.parametrize(("version", "said"), [
    (b"", "Couldn't parse the version  as Long Long."),
    (b"x", "Couldn't parse the version x as Long Long."),
    (b"99\n", "Attempted to read a PyTorch file with version 99, but the maximum supported version for reading is 10."),
    (b"-1", "Attempted to read a PyTorch file with version -1, but the minimum supported version for reading is 1."),
    (b"0", "Attempted to read a PyTorch file with version 0, but the minimum supported version for reading is 1."),
])  # fmt: skip
def test_unknown_version_is_refused(version, said):
    with pytest.raises(RuntimeError, match=f"^{re.escape(said)}$"):
        torch.load(archive(PROTO + b"N" + STOP, version=version))


def test_many_small_containers_are_no_attack():
    many = [{1: "a", (2, "b"): {3, 4}, None: b"c", 2.5: bytearray(b"d")} for _ in range(2_000)]
    file = io.BytesIO()
    torch.save(many, file)
    file.seek(0)
    assert torch.load(file) == many
