"""Records with real PyTorch which forms each function has, into names.json: `python tests/torch/ops/record_names.py`.

A function may also be a method, may have a twin that works in place (as a method, as a function), may take `out=`, and may have
other names.
"""

import json
from pathlib import Path

EXPECTED = Path(__file__).with_name("names.json")


def record():
    import re

    import torch
    import torchgen
    from torch.testing._internal.common_methods_invocations import op_db

    def public(owner):
        return {n for n in dir(owner) if not n.startswith("_") and callable(getattr(owner, n))}

    functions = {
        n for n in public(torch) if type(getattr(torch, n)).__name__ in ("builtin_function_or_method", "function")
    }
    methods = public(torch.Tensor)
    schemas = (Path(torchgen.__file__).parent / "packaged/ATen/native/native_functions.yaml").read_text()
    out = set(re.findall(r"- func: (\w+)\.\w*out\w*\(", schemas))
    aliases = {
        op.name: sorted({a.name for a in op.aliases if "." not in a.name})
        for op in op_db
        if op.aliases and "." not in op.name
    }
    return {
        "methods": sorted(functions & methods),
        "twins": sorted(n for n in functions | methods if f"{n}_" in methods and not n.endswith("_")),
        "function_twins": sorted(n for n in functions if f"{n}_" in functions and not n.endswith("_")),
        "out": sorted(functions & out),
        "aliases": {name: found for name, found in sorted(aliases.items()) if found},
        "only_methods": sorted(methods - functions),
    }


if __name__ == "__main__":
    EXPECTED.write_text(json.dumps(record(), indent=1) + "\n")
