"""Three ranks of which one goes wrong: `fault.py HOW`."""

import os
import signal
import sys
import time
from datetime import timedelta

from autograph_cli import torch

dist = torch.distributed
dist.init_process_group("gloo")
x = torch.ones(4)
dist.all_reduce(x)
if sys.argv[1] == "hangs":  # all are here: what starts late is not waited for
    dist.group.WORLD.timeout = timedelta(seconds=2)
if dist.get_rank() == 1:
    match sys.argv[1]:
        case "raises":
            raise ValueError("no such luck")
        case "exits":
            sys.exit(0)
        case "is killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "hangs":
            time.sleep(600)
        case "calls another function":
            dist.broadcast(x, 0)
dist.all_reduce(x)
