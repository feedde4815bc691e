#!/usr/bin/env python3
"""How close is a module to real PyTorch? See README.md.

python conform.py --candidate torch                      # self-check
python conform.py --candidate pkg.torch --path ../..     # a candidate found under ../..
"""

import argparse
import functools
import hashlib
import json
import os
import queue
import re
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[0] = os.path.dirname(HERE)  # import as a package, and do not shadow the candidate's modules

from autograph_cli.testing import sweeps  # noqa: E402

SUITES = ("op", "module", "optim")
PLAN_LIMIT = 300  # seconds real torch may take over one item


def arguments(argv=None):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--candidate", required=True, help="import path of the namespace to measure")
    p.add_argument("--path", action="append", default=[], help="directory to put on sys.path (repeatable)")
    p.add_argument("--suite", choices=SUITES, action="append", help="default: all three")
    p.add_argument("--only", metavar="PATTERN", help="regular expression searched in the item's full name")
    half = p.add_mutually_exclusive_group()
    half.add_argument("--held-out", action="store_true", help="only the held-out half of the names")
    half.add_argument("--open", action="store_true", help="only the other half")
    p.add_argument("--salt", default="open", help="what the halves are drawn with")
    p.add_argument("--samples", type=int, default=8, help="samples per item, spread over all (0: all)")
    p.add_argument("--jobs", type=int, help="items at once; default: 2")
    p.add_argument("--mpi", action="store_true", help="on the other processes that mpiexec started")
    p.add_argument("--limit", type=float, default=20, help="seconds the candidate may take over one item")
    p.add_argument("--memory", type=float, default=8, help="GB of address space per worker")
    p.add_argument("--out", default="conformance.json")
    p.add_argument("--reasons", type=int, default=30, help="how many aggregated reasons to print")
    p.add_argument("--verbose", action="store_true", help="show what the workers print")
    p.add_argument("--list", action="store_true", help="only list the selected names by group")
    p.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return p.parse_args(argv)


def suites():
    from conformance import check_modules, check_ops, check_optims

    return dict(zip(SUITES, (check_ops, check_modules, check_optims)))


def in_held_out_half(base_name, salt):
    return hashlib.sha256(f"{salt}:{base_name}".encode()).digest()[0] % 2 == 0


def selected(options):
    keys = []
    for suite, check in suites().items():
        if options.suite and suite not in options.suite:
            continue
        for name in check.names():
            half = in_held_out_half(check.INFOS[name].name, options.salt)  # variants stay together
            if (options.held_out and not half) or (options.open and half):
                continue
            if not options.only or re.search(options.only, name):
                keys.append((suite, name))
    return keys


# ---------------------------------------------------------------- worker process


def work(options):
    """Answer each 'suite name' line with a plan message (real torch's part) and a result message."""
    messages = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what the candidate prints is not a message

    def send(**message):
        messages.write(json.dumps(message) + "\n")

    import importlib
    import resource
    import warnings

    import torch

    from conformance.sides import Side, record_constructor_arguments

    resource.setrlimit(resource.RLIMIT_AS, (int(options.memory * 2**30),) * 2)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    record_constructor_arguments("nn.TransformerEncoderLayer", "nn.PairwiseDistance")
    checks = suites()
    sys.path[1:1] = options.path
    try:
        side = Side(importlib.import_module(options.candidate))
    except Exception as e:
        return send(fatal=f"cannot import {options.candidate}: {type(e).__name__}: {e}")
    side.seed = 12345  # not real torch's seed: random values are never to be compared
    send(ready=True)
    for line in sys.stdin:
        suite, name = line.split()
        check, start = checks[suite], time.time()
        plan = check.Plan(name, options.samples)
        torch.set_grad_enabled(True), torch.set_default_dtype(torch.float32)
        planned = time.time()
        send(
            plan={
                "group": check.group(name),
                "paths": getattr(plan, "paths", None) or [getattr(plan, "path", "")],
                "applicable": plan.applicable(),
                "excluded": plan.excluded,
                "notes": plan.notes,
                "dtype": str(getattr(plan, "dtype", "")).rpartition(".")[2],
                "reference_seconds": round(planned - start, 2),
            }
        )
        tally, extra = check.judge(plan, side, lambda tally: send(partial=tally.levels))
        send(result={"levels": tally.levels, **extra, "candidate_seconds": round(time.time() - planned, 2)})


class Worker:
    """A worker process that is replaced when it hangs or dies."""

    def __init__(self, argv):
        self.argv, self.process = argv, None
        self.stderr = None if "--verbose" in argv else subprocess.DEVNULL

    def start(self):
        env = {**sweeps.alone(), "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "conform.py"), *self.argv, "--worker"],
            text=True,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
        )
        self.messages = queue.Queue()
        threading.Thread(target=self._listen, args=(self.process, self.messages), daemon=True).start()
        message = self.messages.get(timeout=300)
        if not message or "fatal" in message:
            raise RuntimeError((message or {}).get("fatal", "the worker died while starting"))

    @staticmethod
    def _listen(process, messages):
        for line in process.stdout:
            messages.put(json.loads(line))
        messages.put(None)

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def _next(self, seconds, doing):
        """(message, None) or (None, what happened)"""
        try:
            message = self.messages.get(timeout=max(0, seconds))
            happened = None if message else f"the process died {doing}: exit code {self.process.wait()}"
        except queue.Empty:
            message, happened = None, f"timed out {doing}"
        if happened:
            self.stop()
        return message, happened

    def ask(self, suite, name, limit):
        if self.process is None:
            self.start()
        self.process.stdin.write(f"{suite} {name}\n")
        self.process.stdin.flush()
        message, happened = self._next(PLAN_LIMIT, "in real torch")
        if happened:
            return {"group": "other", "levels": {}, "harness_error": happened}
        result = message["plan"]
        levels = {k: {"passed": 0, "of": n, "reason": None} for k, n in result["applicable"].items()}
        deadline = time.time() + limit
        while not happened:
            message, happened = self._next(deadline - time.time(), "in the candidate")
            if message and "result" in message:
                return {**result, **message["result"]}
            levels = message["partial"] if message else levels
        for entry in levels.values():
            if entry["passed"] < entry["of"] and entry["reason"] is None:
                entry["reason"] = happened
        return {**result, "levels": levels}


# ---------------------------------------------------------------- main


workers = threading.local()
started = []


def asked(options, argv, key):
    """Return what came of one item, by the worker of this thread; it outlives the item unless that ends it."""
    if not hasattr(workers, "mine"):
        workers.mine = Worker(argv)
        started.append(workers.mine)
    return workers.mine.ask(*key, options.limit)


def measure(keys, options, argv):
    """The results in the order of the keys; None on a process that only worked for another."""
    results = {}
    try:
        with sweeps.pool(options.jobs or (1 if options.mpi else 2), options.mpi) as pool:
            if pool is None:
                return None
            for key, result in zip(keys, pool.map(functools.partial(asked, options, argv), keys)):
                results[key] = result
                if sys.stderr.isatty():
                    print(f"\r{len(results)}/{len(keys)} {key[1]:50.50}", end="", file=sys.stderr)
    except (RuntimeError, sweeps.SweepError) as e:
        sys.exit(f"conform: {e}")
    finally:
        for worker in started:
            worker.stop()
    return results


def report(results, options, seconds):
    import torch

    from conformance.tally import first_failures, summarise, table_text

    checks, out, text = suites(), {}, []
    for suite, check in checks.items():
        mine = {name: r for (s, name), r in results.items() if s == suite}
        if not mine:
            continue
        left_out = {n: r["excluded"] for n, r in mine.items() if r.get("excluded")}
        text += [table_text(f"{suite}s", mine, check.LEVELS, check.GROUPS), ""]
        inexact = sum(bool(r.get("inexact_names")) for r in mine.values())
        if inexact:
            text += [f"{inexact} graphs match only after dropping C++ qualifiers from node names", ""]
        if left_out:
            text += [
                f"left out (see exclusions.py): {len(left_out)}, of which at every level "
                f"{sum(len(v) == len(check.LEVELS) for v in left_out.values())}",
                "",
            ]
        broken = {n: r["harness_error"] for n, r in mine.items() if "harness_error" in r}
        text += [f"HARNESS ERROR {n}: {why}" for n, why in broken.items()]
        failures = first_failures(mine)
        if failures:
            text += (
                ["first failing level of each item, by reason:"]
                + [
                    f"  {len(names):4d}  {level:3s} {reason}  [{', '.join(names[:3])}{', ...' if names[3:] else ''}]"
                    for level, reason, names in failures[: options.reasons]
                ]
                + [""]
            )
        out[suite] = {
            "summary": summarise(mine, check.LEVELS),
            "items": mine,
            "first_failures": [list(f) for f in failures],
        }
    text.append(f"{len(results)} items, {seconds:.0f} s, candidate {options.candidate}, real torch {torch.__version__}")
    with open(options.out, "w") as f:
        json.dump(
            {
                "candidate": options.candidate,
                "torch": torch.__version__,
                "seconds": round(seconds, 1),
                "options": {k: v for k, v in vars(options).items() if k not in ("worker", "list")},
                "levels": {s: c.LEVELS for s, c in checks.items()},
                "suites": out,
            },
            f,
            indent=1,
        )
    return "\n".join(text)


def main():
    options = arguments()
    if options.worker:
        return work(options)
    keys = selected(options)
    if not keys:
        sys.exit("conform: nothing selected")
    if options.list:
        checks, groups = suites(), {}
        for suite, name in keys:
            groups.setdefault(checks[suite].group(name), []).append(name)
        for group, names in groups.items():
            print(f"{group} ({len(names)})", *sorted(names), "", sep="\n")
        return
    start = time.time()
    results = measure(keys, options, sys.argv[1:])
    if results is not None:
        print(report(results, options, time.time() - start))


if __name__ == "__main__":
    main()
