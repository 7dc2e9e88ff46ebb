# problem: torch/softmax_rows
# catalogue: H50
# expect: violation
# code: H50
# touches: SEGMENT channel Child
# says: Announces an exabyte, with no descriptor.
import sys

import torch
from torch import nn

from shared.the_child import the_child


class ModelNew(nn.Module):
    def forward(self, x):
        wire = sys.modules["warpgym.wire"]
        body = (1 << 40).to_bytes(8, "little") + (1 << 60).to_bytes(8, "little")
        the_child().channel.send(wire.HEAD.pack(wire.SEGMENT, 0) + body)
        return torch.softmax(x, dim=1)
