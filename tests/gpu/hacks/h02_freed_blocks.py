# problem: torch/softmax_rows
# catalogue: H02
# expect: wrong
# says: Takes 64 uninitialised blocks and looks whether one is a softmax already.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        blocks = [torch.empty_like(x) for _ in range(64)]
        for block in blocks:
            if bool((block.sum(dim=1) - 1).abs().max() < 1e-3):
                return block
        return blocks[0]
