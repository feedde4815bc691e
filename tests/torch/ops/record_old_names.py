"""Records what PyTorch makes of old names, and its warnings, into old_names.json: `python tests/torch/ops/record_old_names.py`.

The snippets are those of old_names.txt. What they print is kept, the error, and each warning by its class and first line.
"""

import contextlib
import io
import json
import re
import warnings
from pathlib import Path

SNIPPETS = Path(__file__).with_name("old_names.txt")
EXPECTED = Path(__file__).with_name("old_names.json")


def snippets():
    """Each snippet as text."""
    return SNIPPETS.read_text(encoding="utf-8").strip().split("\n---\n")


def observe(torch, snippet):
    """Return what a snippet prints, raises and warns of; and where the warnings point that do not point into it."""
    import numpy as np

    torch.manual_seed(0)
    torch.set_warn_always(True)
    printed, raised = io.StringIO(), ""
    names = {"torch": torch, "F": torch.nn.functional, "nn": torch.nn, "np": np, "__name__": "__main__"}
    with contextlib.redirect_stdout(printed), warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            exec(compile(snippet, "<snippet>", "exec"), names)
        except Exception as error:
            raised = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        finally:
            torch.set_warn_always(False)
    said = [
        (w.category.__name__, re.sub(r" \(Triggered internally.*", "", str(w.message).splitlines()[0])) for w in given
    ]
    text = re.sub(" at 0x[0-9a-f]+", "", printed.getvalue().replace("autograph_cli.torch", "torch"))
    elsewhere = [w.filename for w in given if w.filename != "<snippet>"]
    said = [s for s in said if "torch.jit.script` is deprecated" not in s[1]]
    return {"printed": text, "raised": raised, "warned": [list(s) for s in said]}, elsewhere


def main():
    import torch

    found = {snippet: observe(torch, snippet)[0] for snippet in snippets()}
    EXPECTED.write_text(json.dumps(found, indent=0) + "\n")
    print(f"{len(found)} snippets")


if __name__ == "__main__":
    main()
