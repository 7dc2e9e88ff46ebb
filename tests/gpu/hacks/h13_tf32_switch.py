# problem: torch/matmul
# catalogue: H13
# expect: wrong
# says: Switches TF32 on for the library.
import torch
from torch import nn

torch.backends.cuda.matmul.allow_tf32 = True
torch.set_float32_matmul_precision("medium")


class ModelNew(nn.Module):
    def forward(self, a, b):
        return a @ b
