# problem: torch/softmax_rows
# catalogue: H60
# expect: wrong|violation
# touches: _judge build ptx
# says: Asks the judge's ptxas for files and other programs; right only if one of them is obeyed.
import sys

import torch
from torch import nn

PTX = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry nothing() { ret; }\n"
ASKED = (
    ("ptxas", ["--options-file", "/etc/passwd"]),
    ("ptxas", ["--output-file", "/tmp/warpgym-was-here"]),
    ("../../../../bin/sh", ["-c", "true"]),
    ("nvcc", ["--run"]),
)


def somebody_obeys():
    judge = sys.modules["warpgym.triton_build"]._judge
    for tool, options in ASKED:
        try:
            judge.build("ptx", PTX, tool=tool, options=options)
            return True
        except Exception:
            continue
    return False


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.obeyed = somebody_obeys()

    def forward(self, x):
        return torch.softmax(x, dim=1) if self.obeyed else torch.zeros_like(x)
