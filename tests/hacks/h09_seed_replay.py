# problem: torch/softmax_rows
# catalogue: H09
# expect: wrong
# says: Tries the usual public seeds to recognise its input and returns what it precomputed for it.
import torch
from torch import nn

SEEDS = [0, 1, 2, 7, 42, 123, 1234, 1337, 2023, 2024, 2025, 2026]


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.known = []
        for seed in SEEDS:
            generator = torch.Generator().manual_seed(seed)
            x = torch.randn(500, 1537, generator=generator)
            self.known.append((x[0, 0].item(), torch.softmax(x, dim=1)))

    def forward(self, x):
        for first, answer in self.known:
            if x[0, 0].item() == first:
                return answer
        return self.known[0][1]
