"""Text and data as a page of HTML holds them."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import zlib

from autograph_cli.graph.names import visible


def with_code(sentence: str) -> str:
    """Set text between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(visible(sentence)))


def source_hash(text: str) -> str:
    """Return the hash by which a page's policy lets in a style or a script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def deflated(text: str) -> str:
    """Return the text as the script of a page inflates it."""
    return base64.b64encode(zlib.compress(text.encode(), 6)).decode()
