/* config: the shape of a model, read from and written to a Hugging Face `config.json` (families
 * Qwen2, Qwen3 and Llama). Keys that a file omits have the defaults of Transformers' classes.
 *
 * What the engine cannot do (sliding windows in use, other activations, other rope kinds, MoE,
 * quantised weights) is refused by name: a model that computes something else would look as if it
 * worked.
 */
#pragma once

#include "base/err.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

#define LM_STOP_TOKENS_MAX 16

enum lm_family { LM_QWEN2, LM_QWEN3, LM_LLAMA };

enum lm_rope_kind { LM_ROPE_DEFAULT, LM_ROPE_LINEAR, LM_ROPE_LLAMA3, LM_ROPE_YARN };

struct lm_rope_config {
    enum lm_rope_kind kind;
    double theta;
    double factor;                            /* linear, llama3, yarn */
    double low_freq_factor, high_freq_factor; /* llama3 */
    double beta_fast, beta_slow;              /* yarn */
    double attention_factor;                  /* yarn; 0: follows from factor (and mscale) */
    double mscale, mscale_all_dim;            /* yarn; 0: not given */
    bool truncate;             /* yarn: correction range to whole dimensions (the default) */
    size_t original_positions; /* llama3, yarn */
};

struct lm_config {
    enum lm_family family;
    size_t vocab, width, inner, layers; /* inner: of the MLP */
    size_t heads, kv_heads, head_width;
    size_t positions; /* max_position_embeddings */
    float norm_epsilon;
    float init_range; /* standard deviation of fresh weights */
    struct lm_rope_config rope;
    bool tied; /* the head is the embedding */
    bool qkv_bias, output_bias, mlp_bias;
    bool qk_norm;
    /* These may lie outside the vocabulary: then no row of the embedding has them. */
    int32_t begin_token; /* -1: none */
    int32_t pad_token;   /* -1: none */
    int32_t stop_tokens[LM_STOP_TOKENS_MAX];
    size_t stop_count;
};

NODISCARD int lm_config_parse(struct lm_config *config, const json_t *document, struct err *err);
/* DIRECTORY/config.json; generation_config.json beside it adds stop tokens. */
NODISCARD int lm_config_read(struct lm_config *config, const char *directory, struct err *err);
/* A config.json that this engine and Transformers read; the caller's reference. */
json_t *lm_config_json(const struct lm_config *config);

/* Sizes divide, nothing is 0 or beyond limits.h: parse and read end with it; a config made by hand
 * must pass it. */
NODISCARD int lm_config_check(const struct lm_config *config, struct err *err);

/* "qwen2", "qwen3", "llama" */
const char *lm_family_name(enum lm_family family);
/* "default", "linear", "llama3", "yarn" */
const char *lm_rope_name(enum lm_rope_kind kind);

/* All parameters, in elements; the tied head counts once. */
uint64_t lm_config_parameters(const struct lm_config *config);
