"""Downloads are whole or not there; archives write into their folder only."""

import gzip
import hashlib
import http.server
import io
import os
import tarfile
import threading
import zipfile

import pytest

from autograph_cli.torchvision import datasets
from autograph_cli.torchvision.datasets import utils

BODY = bytes(range(256)) * 999
MD5 = hashlib.md5(BODY, usedforsecurity=False).hexdigest()


class Pages(http.server.BaseHTTPRequestHandler):
    """/whole is there, /cut ends before its length, everything else is not found."""

    def do_GET(self):
        self.send_response(404 if "lost" in self.path else 200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY[:100] if "cut" in self.path else BODY)

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def site():
    """A server of this machine's own."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_file_is_brought_once(site, tmp_path):
    for _ in range(2):
        utils.download_url(f"{site}/whole.bin", tmp_path / "a", md5=MD5)
        assert (tmp_path / "a" / "whole.bin").read_bytes() == BODY
    utils.download_url(f"{site}/lost", tmp_path / "a", "whole.bin", md5=MD5)
    assert os.listdir(tmp_path / "a") == ["whole.bin"]


@pytest.mark.parametrize(
    "page, md5, text",
    [
        ("lost", None, "cannot be downloaded"),
        ("cut", None, "cannot be downloaded"),
        ("whole", "0" * 32, "does not have the MD5 0000"),
    ],
)
def test_what_fails_leaves_nothing(site, tmp_path, page, md5, text):
    with pytest.raises(RuntimeError, match=text):
        utils.download_url(f"{site}/{page}", tmp_path, md5=md5)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/x.gz", "file:///etc/passwd", "ftp://127.0.0.1/x", "nonsense"])
def test_without_a_network_one_sentence_says_where_to_put_the_file(tmp_path, url):
    with pytest.raises(
        RuntimeError, match=r"cannot be downloaded \(.*\): without a network, put the file at .* yourself"
    ):
        utils.download_url(url, tmp_path)


def test_mnist_tries_its_mirrors_in_turn(site, tmp_path, monkeypatch):
    packed = gzip.compress(b"\0\0\x08\x01\0\0\0\x01\x07")
    monkeypatch.setattr(Pages, "do_GET", lambda self: answer(self, packed))
    name = "labels-idx1-ubyte"
    monkeypatch.setattr(datasets.MNIST, "mirrors", ("http://127.0.0.1:9/", f"{site}/"))
    monkeypatch.setattr(datasets.MNIST, "resources", [(f"{name}.gz", hashlib.md5(packed).hexdigest())] * 2)
    with pytest.raises(RuntimeError, match="pictures should be bytes in 3 dimensions"):
        datasets.MNIST(tmp_path, download=True)
    assert sorted(os.listdir(tmp_path / "MNIST" / "raw")) == [name, f"{name}.gz"]
    monkeypatch.setattr(datasets.MNIST, "mirrors", ("http://127.0.0.1:9/",))
    with pytest.raises(RuntimeError, match=r"^Error downloading labels-idx1-ubyte.gz\nhttp://127.0.0.1:9/"):
        datasets.MNIST(tmp_path / "other", download=True)


def answer(page, body):
    page.send_response(200)
    page.end_headers()
    page.wfile.write(body)


def test_integrity_is_being_there_with_the_checksum(tmp_path):
    (tmp_path / "x").write_bytes(BODY)
    assert utils.check_integrity(tmp_path / "x", MD5)
    assert utils.check_integrity(tmp_path / "x")
    assert not utils.check_integrity(tmp_path / "x", "0" * 32)
    assert not utils.check_integrity(tmp_path / "y")


# ---------------------------------------------------------------- archives


def tar(*members, **options):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name in members:
            info = tarfile.TarInfo(name)
            info.size = 3
            for key, value in options.items():
                setattr(info, key, value)
            archive.addfile(info, io.BytesIO(b"abc"))
    return file.getvalue()


def packed(*members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in members:
            archive.writestr(name, b"abc")
    return file.getvalue()


@pytest.mark.parametrize(
    "name, data", [("x.tar.gz", tar("a/b", "c")), ("x.tgz", tar("a/b", "c")), ("x.zip", packed("a/b", "c", "d/"))]
)
def test_archives_are_unpacked_beside_themselves(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    assert utils.extract_archive(tmp_path / name, remove_finished=True) == str(tmp_path)
    assert (tmp_path / "a" / "b").read_bytes() == b"abc"
    assert (tmp_path / "c").read_bytes() == b"abc"
    assert not (tmp_path / name).exists()


ESCAPES = {
    "above.tar.gz": tar("fine", "../out"),
    "deep.tar.gz": tar("a/../../out"),
    "absolute.tar.gz": tar("/out"),
    "link.tar.gz": tar("out", type=tarfile.SYMTYPE, linkname="/etc"),
    "hard.tar.gz": tar("out", type=tarfile.LNKTYPE, linkname="../x"),
    "device.tar.gz": tar("out", type=tarfile.CHRTYPE),
    "above.zip": packed("fine", "../out"),
    "absolute.zip": packed("/out"),
}


@pytest.mark.parametrize("name", ESCAPES)
def test_archives_that_reach_out_are_refused_before_anything_is_written(tmp_path, name):
    (tmp_path / name).write_bytes(ESCAPES[name])
    (tmp_path / "in").mkdir()
    with pytest.raises(RuntimeError, match="the archive is refused"):
        utils.extract_archive(tmp_path / name, tmp_path / "in")
    assert os.listdir(tmp_path / "in") == []


def test_a_link_in_the_folder_is_no_way_out(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "in" / "a").symlink_to(tmp_path / "out")
    (tmp_path / "x.tar.gz").write_bytes(tar("a/b"))
    with pytest.raises(RuntimeError, match="would be written outside"):
        utils.extract_archive(tmp_path / "x.tar.gz", tmp_path / "in")


@pytest.mark.parametrize("name", ["x.tar.gz", "x.zip", "x.gz", "x.tar"])
def test_damaged_archives_are_one_clear_error(tmp_path, name):
    (tmp_path / name).write_bytes(b"\x1f\x8b\x08 nonsense")
    with pytest.raises(RuntimeError, match="is damaged"):
        utils.extract_archive(tmp_path / name)


def test_another_kind_of_file_is_no_archive(tmp_path):
    with pytest.raises(RuntimeError, match="is no archive that can be unpacked"):
        utils.extract_archive(tmp_path / "x.rar")
