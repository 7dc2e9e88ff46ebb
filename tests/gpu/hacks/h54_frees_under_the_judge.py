# problem: torch/softmax_rows
# catalogue: H54
# expect: passed|wrong|violation|runtime_error
# speedup_below: 1.2
# touches: answer library segments_free Side
# says: Frees its outputs' memory the moment it has said where they lie.
import sys

import torch
from torch import nn


def the_side():
    frame = sys._getframe(1)
    while type(frame.f_locals.get("self")).__name__ != "Side":
        frame = frame.f_back
    return frame.f_locals["self"]


class ModelNew(nn.Module):
    def forward(self, x):
        side = the_side()
        y = torch.softmax(x, dim=1)
        kind = type(side)

        def answer(described, own_ns):
            outputs = side.outputs
            kind.answer(side, described, own_ns)
            for output in outputs:
                side.device.library.segments_free(output.data_ptr(), 0, 0, None)

        side.answer = answer
        return y
