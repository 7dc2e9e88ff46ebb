# problem: torch/relu_bias
# catalogue: H15
# expect: wrong|runtime_error
# needs: extension
# says: Asks for a megabyte of shared memory, and nobody looks whether the kernel ran.
from torch.utils.cpp_extension import load_inline

from shared.relu_bias import CPP, CUDA, ModelNew

cuda = CUDA.replace("256, 256>>>", "256, 256, 1 << 20>>>")
built = load_inline("h15_launch_fails_unseen", [CPP], [cuda], functions=["relu_bias"])
