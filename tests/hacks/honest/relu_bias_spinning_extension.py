# problem: torch/relu_bias
# catalogue: H20
# expect: passed
# says: An extension with a pool of its own, whose threads spin for the next call.
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
#include <atomic>
#include <thread>
struct Job { const float *x, *bias; float *y; long rows, cols; };
static Job job;
static std::atomic<int> started{0}, ended{0};
static void part(const Job &of, long first, long last) {
    for (long i = first; i < last; i++)
        for (long j = 0; j < of.cols; j++) {
            float value = of.x[i * of.cols + j] + of.bias[j];
            of.y[i * of.cols + j] = value > 0 ? value : 0;
        }
}
static void serve() {
    for (int seen = 0;;) {
        for (int spins = 0; started.load() == seen; spins++)
            if (spins > 2000) std::this_thread::yield();
        seen = started.load();
        part(job, job.rows / 2, job.rows);
        ended.store(seen);
    }
}
void relu_bias(torch::Tensor x, torch::Tensor bias, torch::Tensor y) {
    static std::thread *helper = new std::thread(serve);
    (void)helper;
    long cols = x.size(-1);
    job = {x.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), x.numel() / cols,
           cols};
    int ticket = ++started;
    part(job, 0, job.rows / 2);
    while (ended.load() != ticket) std::this_thread::yield();
}
"""
extension = load_inline("pooled", cpp_sources=SOURCE, functions=["relu_bias"])


class ModelNew(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        y = torch.empty_like(x)
        extension.relu_bias(x, self.bias.detach(), y)
        return y
