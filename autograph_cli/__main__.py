"""`python -m autograph_cli` is `autograph`."""

import sys
from pathlib import Path

if not sys.flags.safe_path:
    sys.path[0] = str(
        Path(__file__).parent.parent
    )  # not the working directory, where scripts have modules of their own

from .cli import main

main()
