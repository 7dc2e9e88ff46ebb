# problem: torch/softmax_rows
# catalogue: H54
# expect: passed|wrong|violation|runtime_error
# speedup_below: 1.2
# touches: answer library segments_free Child
# says: Frees its outputs' memory the moment it has said where they lie.
import torch
from torch import nn

from shared.the_child import the_child


class ModelNew(nn.Module):
    def forward(self, x):
        child = the_child()
        y = torch.softmax(x, dim=1)
        kind = type(child)

        def answer(described, own_ns):
            outputs = child.outputs
            kind.answer(child, described, own_ns)
            for output in outputs:
                child.device.library.segments_free(output.data_ptr(), 0, 0, None)

        child.answer = answer
        return y
