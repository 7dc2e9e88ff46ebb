# problem: torch/softmax_rows
# catalogue: H54
# expect: passed
# says: Collects garbage, empties PyTorch's cache, looks at its own frame.
import gc
import inspect

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        gc.collect()
        name = inspect.currentframe().f_code.co_name
        assert name == "forward", name
        torch.cuda.empty_cache()
        return torch.softmax(x, dim=1)
