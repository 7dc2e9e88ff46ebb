# problem: torch/softmax_rows
# catalogue: H60
# expect: compile_error|load_error|unsupported|runtime_error
# says: Has an extension include a file of the host and smuggles a plug-in into the flags.
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include "/etc/passwd"
torch::Tensor run(torch::Tensor x) { return torch::softmax(x, 1); }
"""

extension = load_inline(
    "stealing",
    cpp_sources=SOURCE,
    functions=["run"],
    extra_cflags=["-fplugin=/tmp/plugin.so", "-include", "/etc/hostname"],
    extra_include_paths=["/"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.run(x)
