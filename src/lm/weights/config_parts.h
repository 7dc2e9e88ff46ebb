/* config_parts: what the files behind config.h and adapter.h share. */
#pragma once

#include "lm/weights/config.h"

/* Transformers' defaults for omitted keys; 0: the key is required. */
struct lm_family_row {
    const char *name, *architecture;
    int64_t positions, kv_heads, head_width; /* kv_heads 0: as heads; head_width 0: width / heads */
    int32_t begin, stop;                     /* -1: none */
    bool always_qkv_bias, attention_bias, mlp_bias, qk_norm; /* has it, or has a key for it */
};

#define LM_FAMILIES 3
extern const struct lm_family_row lm_families[LM_FAMILIES]; /* by enum lm_family */

/* An integer of 1 to `most`; `standard` where the key is omitted, 0: the key is required. */
NODISCARD int lm_config_size(const json_t *document, const char *key, int64_t standard,
                             int64_t most, size_t *out, struct err *err);

/* The rope's part of a document: config->positions must be known. */
NODISCARD int lm_rope_read(struct lm_config *config, const json_t *document, struct err *err);
NODISCARD int lm_rope_check(const struct lm_rope_config *rope, struct err *err);
/* "rope_scaling"; null for the default kind. */
json_t *lm_rope_json(const struct lm_rope_config *rope);

/* Returns `result`; the message, which quotes untrusted text, becomes one printable line. */
int lm_weights_result(int result, struct err *err);

/* Passes DIRECTORY/NAME as JSON, bounded, to `read`, whose errors get the path. */
NODISCARD int lm_weights_read(const char *directory, const char *name,
                              int (*read)(void *into, const json_t *document, struct err *err),
                              void *into, struct err *err);
