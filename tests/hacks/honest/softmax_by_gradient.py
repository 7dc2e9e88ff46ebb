# problem: torch/softmax_rows
# catalogue: H22
# expect: passed
# says: Softmax as the gradient of the logarithm of the sum: autograd's own threads compute it.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        with torch.enable_grad():
            inputs = x.detach().requires_grad_()
            total = torch.logsumexp(inputs, dim=1).sum()
            (gradient,) = torch.autograd.grad(total, inputs)
        return gradient
