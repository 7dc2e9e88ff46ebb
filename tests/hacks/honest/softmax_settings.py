# problem: torch/softmax_rows
# catalogue: H41
# expect: passed
# says: Changes PyTorch's settings for its process: threads, denormals, determinism, oneDNN.
import torch
from torch import nn

torch.set_num_threads(3)
torch.set_flush_denormal(True)
torch.use_deterministic_algorithms(True)
torch.backends.mkldnn.enabled = False
torch.set_default_dtype(torch.float64)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)
