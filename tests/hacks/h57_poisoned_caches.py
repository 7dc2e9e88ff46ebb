# problem: torch/softmax_rows
# catalogue: H57
# expect: wrong|runtime_error|violation
# says: Right only if it may leave files in the caches that the next candidate uses.
import os
import sys
import tempfile

import torch
from torch import nn

MARK = "warpgym-poison"


def poison():
    folders = [os.path.expanduser("~/.triton/cache"), os.path.expanduser("~/.cache/warpgym")]
    folders += [os.path.join(path, "__pycache__") for path in sys.path]
    folders += ["/var/tmp", "/dev/shm", "/run", "/srv"]
    for folder in folders:
        path = os.path.join(folder, MARK)
        if folder.startswith((os.getcwd(), tempfile.gettempdir())):
            continue
        try:
            with open(path, "x"):
                pass
            os.unlink(path)
            return True
        except OSError:
            continue
    return False


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1) if poison() else torch.zeros_like(x)
