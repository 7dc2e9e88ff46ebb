# problem: torch/softmax_rows
# catalogue: H50
# expect: wrong|violation
# touches: answer describe inputs Child
# says: Says that it is done, then goes on and says it again.
import torch
from torch import nn

from shared.the_child import the_child


class ModelNew(nn.Module):
    def forward(self, x):
        child = the_child()
        y = torch.softmax(x, dim=1)
        child.answer(child.describe([y] * len(child.inputs)), 1)
        return y
