"""`autograph`: the group of all commands, and how their errors are shown."""

from __future__ import annotations

from typing import Any

import click

from autograph_cli import AutographError, __version__
from autograph_cli.cli.diff import diff
from autograph_cli.cli.info import info
from autograph_cli.cli.render import render
from autograph_cli.cli.run import run
from autograph_cli.cli.show import show
from autograph_cli.cli.snapshot import snapshot
from autograph_cli.cli.why import why
from autograph_cli.graph import GraphError, TraceError
from autograph_cli.record.runner import INTERRUPTED


class Commands(click.Group):
    """Shows what a person did wrong as one sentence, and ends with 130 on Ctrl-C."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (AutographError, GraphError, TraceError) as error:
            click.ClickException(str(error)).show()
            ctx.exit(getattr(error, "exit_code", 1))
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            ctx.exit(INTERRUPTED)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, package_name="autograph-cli", prog_name="autograph")
def main() -> None:
    """See what autograd recorded: run a PyTorch-style script, and draw the graphs that it built.

    \b
      autograph run expr.py                      run it, and say what was recorded
      autograph render                           draw the last run: the forward graph, as SVG
      autograph render --backward                ... the grad_fn chain
      autograph render --double-backward         ... the orders 0, 1 and 2, apart and linked
      autograph render expr.py --backward -o graph.svg      run and draw in one go
      autograph show expr.py                     the graph as text
      autograph snapshot expr.py                 keep the graph as a text file beside it
      autograph snapshot --check expr.py         ... and see that it is the same still
      autograph diff --rev main expr.py          how the graph differs from that of another revision

    \b
    Completion of commands and options, for this shell and in its start-up file:
      bash   eval "$(_AUTOGRAPH_COMPLETE=bash_source autograph)"
      zsh    eval "$(_AUTOGRAPH_COMPLETE=zsh_source autograph)"
      fish   _AUTOGRAPH_COMPLETE=fish_source autograph | source
    """


for command in (run, render, show, why, snapshot, diff, info):
    main.add_command(command)
