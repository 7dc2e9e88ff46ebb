# problem: torch/softmax_rows
# catalogue: H16
# expect: passed
# says: Splits the rows so that some pieces are tensors without elements.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        pieces = torch.tensor_split(x, (0, 0, 200, 200, x.shape[0]))
        return torch.cat([torch.softmax(piece, dim=1) for piece in pieces])
