# problem: torch/relu_bias
# catalogue: H58
# expect: passed
# needs: extension
# says: An assertion on the GPU that holds.
from torch.utils.cpp_extension import load_inline

from shared.relu_bias import CPP, CUDA, ModelNew

cuda = CUDA.replace("h>\n", "h>\n#include <cassert>", 1)
cuda = cuda.replace("    if", "    assert(cols > 0);\n    if")
built = load_inline("h58_assertion_that_holds", [CPP], [cuda], functions=["relu_bias"])
