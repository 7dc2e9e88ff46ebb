# problem: torch/softmax_rows
# catalogue: H50
# expect: timeout
# says: Takes and gives back memory without end: each piece is a message that the judge serves.
import time

import torch
from torch import nn

LONGEST_S = 60


class ModelNew(nn.Module):
    """Real memory, announced over and over: while there is always one more message, does anybody
    look at the clock?"""

    def forward(self, x):
        kept = []
        start_s = time.monotonic()
        while time.monotonic() - start_s < LONGEST_S:
            kept.append(torch.empty(32 << 20, dtype=torch.uint8, device=x.device))
            if len(kept) == 4:
                kept.clear()
                torch.cuda.empty_cache()
        return torch.softmax(x, dim=1)
