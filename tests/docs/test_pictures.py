"""The committed pictures are what autograph draws now, and the pages show no others."""

from __future__ import annotations

import re

import pytest

from tests.conftest import ROOT
from tests.docs.pages import make_pictures


@pytest.mark.parametrize("script", make_pictures.PICTURES)
def test_committed_pictures_are_up_to_date(script: str) -> None:
    for name, content in make_pictures.pictures(script):
        committed = (make_pictures.FOLDER / name).read_bytes()
        assert committed == content, f"docs/pictures/{name} is out of date: run `make pictures`"


def test_the_pictures_of_memory_are_up_to_date() -> None:
    for name, content in make_pictures.of_memory():
        committed = (make_pictures.FOLDER / name).read_bytes()
        assert committed == content, f"docs/pictures/{name} is out of date: run `make pictures`"


def test_the_picture_of_several_ranks_is_up_to_date() -> None:
    pytest.importorskip("mpi4py")
    name, content = make_pictures.of_ranks()
    committed = (make_pictures.FOLDER / name).read_bytes()
    assert committed == content, f"docs/pictures/{name} is out of date: run `make pictures`"


@pytest.mark.parametrize("script", make_pictures.GALLERY)
def test_the_gallery_is_up_to_date(script: str) -> None:
    if script == "samples/digits.py":
        pytest.importorskip("sklearn")
    for name, content in make_pictures.gallery(script):
        committed = (make_pictures.GALLERY_FOLDER / name).read_bytes()
        assert committed == content, f"docs/gallery/{name} is out of date: run `make gallery`"


def test_the_page_of_the_gallery_is_up_to_date() -> None:
    assert make_pictures.GALLERY_PAGE.read_text("utf-8") == make_pictures.gallery_page()


@pytest.mark.parametrize(
    "page", ["README.md", "docs/zh/README.md", "docs/pictures.md", "docs/gallery.md", "docs/how-to/memory.md"]
)
def test_pages_show_pictures_that_exist(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    shown = re.findall(r'!\[[^\]]*\]\(([^)]+\.svg)\)|<img src="([^"]+)"', text)
    assert shown
    for name in map("".join, shown):
        assert ((ROOT / page).parent / name).is_file(), f"{page} shows {name}, which does not exist"
