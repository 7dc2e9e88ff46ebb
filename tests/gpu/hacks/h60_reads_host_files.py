# problem: torch/softmax_rows
# catalogue: H60
# expect: compile_error
# needs: extension
# says: Lets the assembler of the host read a file of the machine that compiles.
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>

asm(".pushsection .rodata\n"
    ".global passwords\n"
    "passwords: .incbin \"/etc/passwd\"\n"
    ".popsection\n");
extern "C" const char passwords[];

int first_byte() { return passwords[0]; }
"""
built = load_inline("h60", ["int first_byte();"], [CUDA], functions=["first_byte"])


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1) if built.first_byte() else None
