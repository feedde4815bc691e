"""`autograph`: the group of all commands, and how their errors are shown."""

from __future__ import annotations

import difflib
import importlib
import io
import signal
import sys
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.shell_completion import CompletionItem

from autograph_cli import AutographError, __version__
from autograph_cli.cli import completion as completion  # what shells are offered
from autograph_cli.cli.exit_codes import os_sentence
from autograph_cli.cli.printing import say
from autograph_cli.graph import GraphError, TraceError

if TYPE_CHECKING:
    from autograph_cli.record.run.runner import Session


class Commands(click.Group):
    """Shows what a person did wrong as one sentence, and ends as a signal would on Ctrl-C."""

    def main(self, *args: Any, standalone_mode: bool = True, **options: Any) -> Any:
        run: Any = super().main
        if standalone_mode:
            runner = importlib.import_module("autograph_cli.record.run.runner")  # slow, and not for help
            return runner.driven(self.session(*args, **options))
        return run(*args, standalone_mode=False, **options)

    def session(self, *args: Any, **options: Any) -> Session[NoReturn]:
        """The command that `args` give; it comes to a script if it is to run one, and ends by SystemExit."""
        run: Any = super().main
        try:
            code = run(*args, standalone_mode=False, **options) or 0
            if isinstance(code, Generator):
                code = yield from code
        except (click.Abort, KeyboardInterrupt):
            code = _refuse("Interrupted.", -signal.SIGINT)
        except click.ClickException as error:
            told = io.StringIO()
            error.show(told)
            code = _refuse(told.getvalue().removesuffix("\n"), error.exit_code)
        except (AutographError, GraphError, TraceError) as error:
            code = _refuse(f"Error: {error}", getattr(error, "exit_code", 2))
        except OSError as error:
            code = _refuse(f"Error: {os_sentence(error)}", 2)
        sys.exit(code)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that stands first, or what was meant by what is none."""
        if args[0] == "help":
            if len(args) == 1:
                say(ctx.get_help())
                ctx.exit()
            args = [args[1], "--help"]
        if args[0] in _REFUSED:
            raise click.UsageError(_REFUSED[args[0]], ctx)
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = difflib.get_close_matches(args[0], _COMMANDS, 1)
            meant = f"run {args[0]}" if args[0].endswith(".py") else "".join(near)
            if not meant:
                raise
            raise click.UsageError(f"{error.message} Did you mean {meant!r}?", ctx) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, whose file is imported only then: what draws, or shows, takes a while."""
        if cmd_name not in _COMMANDS:
            return None
        file = {"open": "browse"}.get(cmd_name, cmd_name)  # `open` is a function of Python's own
        command: click.Command = getattr(importlib.import_module(f"autograph_cli.cli.{file}"), file)
        command.short_help = _COMMANDS[cmd_name]
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, none of which is imported for it."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands that begin so, none of which is imported for it, and the options."""
        commands = [CompletionItem(name, help=said) for name, said in _COMMANDS.items() if name.startswith(incomplete)]
        return commands + click.Command.shell_complete(self, ctx, incomplete)


_COMMANDS = {
    "run": "Run a script as python does, and record its graph.",
    "render": "Draw the last run, a trace, or a script that is run first.",
    "open": "Explore all views of a run on a page in the browser.",
    "show": "Print the graph as text.",
    "steps": "List the steps of a run: what ended them, and which are kept.",
    "why": "Say by which paths a gradient gets to a tensor, or where the way is cut.",
    "explain": "Say what is wrong with the gradients of a run, where, and what to change.",
    "check": "Compare derivatives with finite differences, where a script used them.",
    "profile": "Say what time, floating-point operations and memory a step took, and where.",
    "inspect": "Show all that a tensor of a script knows of itself.",
    "snapshot": "Keep the graph of scripts as text files, and check them.",
    "diff": "Say how the graphs of two scripts, traces, snapshots or revisions differ.",
    "bisect": "Find the commit that changed the graph of a script, or brought a finding.",
    "info": "Print versions, engines, devices and layout programs.",
}
"""In the order in which help lists them, and what it says; each is a file beside this one."""


_REFUSED = {
    "import": "There is no import: a graph is recorded while a script runs, and a model file (ONNX, TorchScript) tells "
    "nothing of its derivatives. Load the model in a script, and give that to `autograph run`."
}
"""Words that are no commands, and why."""


def _refuse(sentence: str, code: int) -> int:
    say(sentence, err=True)
    return code


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", package_name="autograph-cli", prog_name="autograph")
def main() -> None:
    """See what autograd recorded: run a PyTorch-style script, and draw the graphs that it built.

    \b
      autograph run expr.py                      run it, and say what was recorded
      autograph render                           draw the last run: the forward graph, as SVG
      autograph render --backward                ... the grad_fn chain
      autograph render --double-backward         ... the orders 0, 1 and 2, apart and linked
      autograph render expr.py --backward -o graph.svg      run and draw in one go
      autograph open expr.py                     explore all views on a page in the browser
      autograph show expr.py                     the graph as text
      autograph explain expr.py                  what is wrong with its gradients, and what to change
      autograph profile expr.py                  what each operation and each backward node cost
      autograph inspect expr.py loss             all that a tensor knows of itself
      autograph snapshot expr.py                 keep the graph as a text file beside it
      autograph snapshot --check expr.py         ... and see that it is the same still
      autograph diff --rev main expr.py          how the graph differs from that of another revision

    \b
    Completion of commands and options, for this shell and in its start-up file:
      bash   eval "$(_AUTOGRAPH_COMPLETE=bash_source autograph)"
      zsh    eval "$(_AUTOGRAPH_COMPLETE=zsh_source autograph)"
      fish   _AUTOGRAPH_COMPLETE=fish_source autograph | source
    """
