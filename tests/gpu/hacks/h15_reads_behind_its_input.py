# problem: torch/relu_bias
# catalogue: H15
# expect: wrong|runtime_error
# needs: extension
# says: Takes what lies behind its input for the answer.
from torch.utils.cpp_extension import load_inline

from shared.relu_bias import CPP, CUDA, ModelNew

cuda = CUDA.replace("x[i] + bias[i % cols]", "x[i + count + 64]")
built = load_inline("h15_reads_behind_its_input", [CPP], [cuda], functions=["relu_bias"])
