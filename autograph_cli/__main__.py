"""`python -m autograph_cli` is `autograph`."""

from .cli import main

main()
