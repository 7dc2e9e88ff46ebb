# problem: torch/relu_bias
# catalogue: H58
# expect: runtime_error
# needs: extension
# says: An assertion that fails on the GPU.
from torch.utils.cpp_extension import load_inline

from shared.relu_bias import CPP, CUDA, ModelNew

cuda = CUDA.replace("h>\n", "h>\n#include <cassert>", 1)
cuda = cuda.replace("    if", "    assert(x == nullptr);\n    if")
built = load_inline("h58_device_assert", [CPP], [cuda], functions=["relu_bias"])
