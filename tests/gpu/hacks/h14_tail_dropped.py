# problem: torch/relu_bias
# catalogue: H14
# expect: wrong
# needs: extension
# says: Rounds its grid down: the last elements are never written.
from torch.utils.cpp_extension import load_inline

from shared.relu_bias import CPP, CUDA, ModelNew

cuda = CUDA.replace("(count + 255) / 256", "count / 256")
built = load_inline("h14_tail_dropped", [CPP], [cuda], functions=["relu_bias"])
