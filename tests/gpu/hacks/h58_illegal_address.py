# problem: torch/relu_bias
# catalogue: H58
# expect: runtime_error
# needs: extension
# says: Writes a terabyte behind its output.
from torch.utils.cpp_extension import load_inline

from shared.relu_bias import CPP, CUDA, ModelNew

cuda = CUDA.replace("y[i]", "y[i + (1ll << 40)]")
built = load_inline("h58_illegal_address", [CPP], [cuda], functions=["relu_bias"])
