/* sampler: many requests decoded together, over a paged cache of keys and values.
 *
 *   submit ─► waiting ─► [room in the cache] ─► prompt in pieces ─► a token a step ─► done
 *
 * Each step takes all running sequences and as much of waiting prompts as fits its rows, so that
 * requests come and go at any step (continuous batching: Yu et al. 2022). The cache is pages of a
 * few positions (Kwon et al. 2023); samples of one prompt share the prompt's full pages, and copy
 * the last one that they write to. A request that will not fit beside others waits; one that could
 * never fit is refused.
 *
 * A sequence's tokens depend on its own seed, prompt and settings, not on concurrent requests:
 * random numbers come from a counter (seed, sample, position). With an `invariant` backend that
 * holds to the last bit; otherwise sums may differ in the last bit between batch sizes, and rarely
 * a token.
 *
 * Log-probabilities are those of the model at temperature 1 without top-k, top-p or min-p, as a
 * trainer computes them; `processed` asks for those of the distribution that was sampled from.
 *
 * Weights may change in place between two steps: the sampler sees it by model->version and drops
 * cached prompts. Running requests continue with the new weights; to avoid that, let them end first
 * (lm_engine_change does).
 *
 * Threads: one drives it; lm/sample/engine.h gives it a thread and takes requests from any.
 */
#pragma once

#include "lm/model/model.h"
#include "lm/tokenizer/tokenizer.h"

#define LM_TOP_LOGPROBS_MAX 20
#define LM_STOPS_MAX 16

struct lm_sampler;

struct lm_sampler_options {
    size_t sequences;    /* decoded at once */
    size_t rows;         /* of one step, prompts included */
    size_t page;         /* positions of a page; 0: 16 */
    size_t cache_tokens; /* positions that all pages hold together */
};

#define LM_CACHE_BYTES ((uint64_t)4 << 30) /* of a cache, by default */

/* Keys and values of one position, in all layers. */
uint64_t lm_cache_position_bytes(const struct lm_config *config, enum lm_dtype dtype);
/* For `sequences` of `tokens` positions each at once, as far as `cache_bytes` allow: one of them
 * fits in any case, and the others wait for each other. Pieces of prompts go beside them. */
struct lm_sampler_options lm_sampler_capacity(const struct lm_config *config, enum lm_dtype dtype,
                                              size_t sequences, size_t tokens,
                                              uint64_t cache_bytes);

/* temperature 0 is greedy; top_k 0, top_p 1 and min_p 0 take nothing away. */
struct lm_sampling {
    double temperature, top_p, min_p;
    size_t top_k;
    size_t max_tokens; /* new ones; 0: to the model's or the cache's end */
    uint64_t seed;
    const int32_t *stop_tokens; /* beside the model's own; the token is part of the answer */
    size_t stop_token_count;
    bool ignore_model_stops;
    const char *const
        *stops; /* strings: the text ends before the first of them. Needs a tokenizer */
    size_t stop_count;
    size_t top_logprobs; /* of each new token: the n most probable */
    bool prompt_logprobs;
    bool processed;
};
extern const struct lm_sampling lm_sampling_defaults;

/* LM_FAILED: the model gave no finite numbers, or the backend an error. */
enum lm_finish { LM_RUNNING, LM_STOP, LM_LENGTH, LM_CANCELLED, LM_FAILED };

struct lm_top {
    int32_t id;
    float logprob;
};

/* What comes of one sample. Arrays grow as it runs. */
struct lm_sample {
    int32_t *tokens;
    float *logprobs;    /* of each token */
    struct lm_top *top; /* [count, top_logprobs] */
    size_t count;
    enum lm_finish finish;
    size_t text_end; /* with stop strings: how many bytes of the decoded text count */
};

struct lm_request {
    const int32_t *prompt; /* kept by the sampler as a copy */
    size_t prompt_count;
    size_t samples; /* of this prompt, seeds seed, seed + 1, …*/
    struct lm_sampling sampling;
    struct tokenizer *tokenizer; /* for stop strings; or NULL */
    /* Called from lm_sampler_step: sample `index` has a new token (the last one in `sample`), or
     * has ended. `sample` is valid during the call only. */
    void (*on_event)(void *context, size_t index, const struct lm_sample *sample);
    /* Called once, before the first token, where prompt_logprobs is set: [prompt_count], the first
     * is NAN. */
    void (*scored)(void *context, const float *logprobs, const struct lm_top *top);
    void *context;
};

NODISCARD int lm_sampler_open(struct lm_sampler **out, struct lm_model *model,
                              const struct lm_sampler_options *options, struct err *err);
void lm_sampler_close(struct lm_sampler *sampler);

/* *id names it until its last sample has ended. */
NODISCARD int lm_sampler_submit(struct lm_sampler *sampler, const struct lm_request *request,
                                uint64_t *id, struct err *err);
/* Its samples end as LM_CANCELLED, with an event, at the beginning of the next step. Ignores
 * unknown ids. */
void lm_sampler_cancel(struct lm_sampler *sampler, uint64_t id);
/* One step. *busy says whether there is more to do. After an error all requests have ended as
 * LM_FAILED. */
NODISCARD int lm_sampler_step(struct lm_sampler *sampler, bool *busy, struct err *err);
/* Forgets cached prompts: after the weights have changed. ERR_INPUT while requests run. */
NODISCARD int lm_sampler_reset_cache(struct lm_sampler *sampler, struct err *err);

struct lm_sampler_stats {
    uint64_t requests, tokens, steps;
    uint64_t prompt_tokens; /* of all samples */
    uint64_t shared_tokens; /* of these: found in the cache, not computed */
    size_t running, waiting, pages;
    size_t pages_free; /* or holding nothing but cached prompts */
};
struct lm_sampler_stats lm_sampler_stats(const struct lm_sampler *sampler);
