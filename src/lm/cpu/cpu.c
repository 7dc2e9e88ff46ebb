#include "lm/cpu/cpu.h"

#include "base/mem.h"
#include "lm/ops/host.h"

static const struct lm_ops ops = {
    .embed = {lm_cpu_embed, lm_cpu_embed_backward},
    .rmsnorm = {lm_cpu_rmsnorm, lm_cpu_rmsnorm_backward},
    .linear = {lm_cpu_linear, lm_cpu_linear_backward},
    .rope = {lm_cpu_rope, lm_cpu_rope_backward},
    .attention = {lm_cpu_attention, lm_cpu_attention_backward},
    .cache_write = {lm_cpu_cache_write, NULL},
    .attention_paged = {lm_cpu_attention_paged, NULL},
    .swiglu = {lm_cpu_swiglu, lm_cpu_swiglu_backward},
    .logprob = {lm_cpu_logprob, lm_cpu_logprob_backward},
    .square_sum = {lm_cpu_square_sum, NULL},
    .adamw = {lm_cpu_adamw, NULL},
};

float *lm_cpu_scratch(struct lm_cpu *cpu, size_t count)
{
    if (count > cpu->scratch_count) {
        mem_free(cpu->memory);
        cpu->memory = mem_resize(NULL, count * sizeof(float) + LM_HOST_ALIGNMENT);
        cpu->scratch_count = count;
    }
    uintptr_t start = (uintptr_t)cpu->memory + LM_HOST_ALIGNMENT - 1;
    return (float *)(start / LM_HOST_ALIGNMENT * LM_HOST_ALIGNMENT);
}

static void cpu_close(struct lm_backend *backend)
{
    struct lm_cpu *cpu = lm_cpu_of(backend);
    lm_pool_free(cpu->pool);
    blas_close(&cpu->blas);
    mem_free(cpu->memory);
    mem_free(cpu);
}

int lm_cpu_open(struct lm_backend **out, size_t threads, struct err *err)
{
    struct lm_cpu *cpu = mem_alloc(sizeof *cpu);
    int result = blas_open(&cpu->blas, err);
    if (result < 0) {
        mem_free(cpu);
        return result;
    }
    cpu->loops = lm_loops_here();
    cpu->pool = lm_pool_new(threads);
    cpu->backend = (struct lm_backend){
        .name = "cpu", .dtype = LM_F32, .threads = threads, .ops = &ops, .close = cpu_close};
    lm_host_memory(&cpu->backend);
    *out = &cpu->backend;
    return 0;
}
