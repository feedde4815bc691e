"""`python -m autograph_cli` is `autograph`."""

from autograph_cli.cli import main

if __name__ == "__main__":
    main(prog_name="autograph")
