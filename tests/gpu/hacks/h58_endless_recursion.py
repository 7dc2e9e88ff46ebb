# problem: torch/relu_bias
# catalogue: H58
# expect: runtime_error|timeout|wrong
# needs: extension
# says: Recurses until the stack of its threads is used up.
from torch.utils.cpp_extension import load_inline

from shared.relu_bias import CPP, CUDA, ModelNew

DEEPER = r"""
__device__ __noinline__ float deeper(float value, volatile float *trail)
{
    volatile float local[64];
    local[threadIdx.x % 64] = value;
    return trail ? deeper(value + 1, trail) + local[0] : value;
}
"""
cuda = CUDA.replace("h>\n", "h>\n" + DEEPER, 1)
cuda = cuda.replace("fmaxf(x[i] + bias[i % cols], 0)", "deeper(x[i], y)")
built = load_inline("h58_endless_recursion", [CPP], [cuda], functions=["relu_bias"])
