#include "lm/reference/reference.h"

#include "base/mem.h"
#include "lm/ops/host.h"

static const struct lm_ops ops = {
    .embed = {reference_embed, reference_embed_backward},
    .rmsnorm = {reference_rmsnorm, reference_rmsnorm_backward},
    .linear = {reference_linear, reference_linear_backward},
    .rope = {reference_rope, reference_rope_backward},
    .attention = {reference_attention, reference_attention_backward},
    .cache_write = {reference_cache_write, NULL},
    .attention_paged = {reference_attention_paged, NULL},
    .swiglu = {reference_swiglu, reference_swiglu_backward},
    .logprob = {reference_logprob, reference_logprob_backward},
    .square_sum = {reference_square_sum, NULL},
    .adamw = {reference_adamw, NULL},
};

static void reference_close(struct lm_backend *backend)
{
    mem_free(backend);
}

int lm_reference_open(struct lm_backend **out, size_t threads, struct err *err)
{
    (void)threads, (void)err;
    struct lm_backend *backend = mem_alloc(sizeof *backend);
    *backend = (struct lm_backend){
        .name = "reference", .dtype = LM_F32, .threads = 1, .invariant = true, .ops = &ops};
    lm_host_memory(backend);
    backend->close = reference_close;
    *out = backend;
    return 0;
}
