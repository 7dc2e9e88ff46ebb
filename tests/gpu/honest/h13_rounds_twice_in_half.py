# problem: addcmul_float16
# catalogue: H13
# expect: passed
# says: Two operators in place of one: the product is rounded to float16 before it is added.
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b, c):
        return a + b * c
