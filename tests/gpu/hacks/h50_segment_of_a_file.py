# problem: torch/softmax_rows
# catalogue: H50
# expect: violation
# code: H50
# touches: SEGMENT channel Child
# says: Announces a plain file as memory of the GPU.
import sys

import torch
from torch import nn

from shared.the_child import the_child


class ModelNew(nn.Module):
    def forward(self, x):
        wire = sys.modules["warpgym.wire"]
        message = wire.HEAD.pack(wire.SEGMENT, 0) + (1 << 40).to_bytes(8, "little")
        with open("memory", "wb+") as file:
            file.write(bytes(1 << 20))
            file.flush()
            size = (1 << 20).to_bytes(8, "little")
            the_child().channel.send(message + size, [file.fileno()])
        return torch.softmax(x, dim=1)
