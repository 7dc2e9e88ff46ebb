/* results: what a pass or a sample gives, as protocol buffers (policy/tinker_fields.h). Pure. */
#pragma once

#include "base/buf.h"
#include "lm/sample/sampler.h"
#include "server/tinker/pass_read.h"

void tinker_pass_write(struct buf *out, const struct tinker_pass *pass,
                       const struct loss_sums *sums);

struct tinker_samples {
    const struct lm_sample *samples;
    size_t count, prompt_count;
    const float *prompt;           /* NULL: not asked for */
    const struct lm_top *top;      /* [prompt_count, width] */
    size_t width;                  /* of all lists of the most probable */
    size_t prompt_top, sample_top; /* of them, what is asked for */
};
void tinker_samples_write(struct buf *out, const struct tinker_samples *samples);
