/* activations: the arrays of one pass, all in one allocation that is carved by a table; for
 * lm/model/pass.c and lm/model/layer.c alone.
 *
 * What a layer keeps for its backward exists once for each layer, or, where layers are computed
 * again, once for all; its input exists for each layer in any case. A pass that never goes back
 * shares more.
 */
#pragma once

#include "lm/model/pass.h"

/* What layers work on; q is [rows, heads, head_width], k and v [rows, kv_heads, head_width]. */
struct lm_layer_arrays {
    void *input;         /* [rows, width], as are normed, middle and middle_normed */
    void *normed;        /* of the input */
    void *raw_q, *raw_k; /* before their norms; NULL: there are none */
    void *q, *k, *v;
    void *attended; /* as q */
    void *middle;   /* the input and what attention adds to it */
    void *middle_normed;
    void *gate, *up, *gated;         /* [rows, inner] */
    void *low[LM_LORA_TARGET_COUNT]; /* [rows, rank]: x·Aᵀ of an adapter */
    float *inverse, *middle_inverse; /* [rows], of the norms; NULL: never goes back */
    float *q_inverse, *k_inverse,
        *lse; /* [rows, heads], [rows, kv_heads], [rows, heads]; likewise */
};

struct lm_activations {
    struct lm_layer_arrays *layers; /* one for each layer; equal pointers where arrays are shared */
    void *output;                   /* [rows, width], of the last layer */
    void *hidden;                   /* its norm */
    float *hidden_inverse;
    int32_t *tokens, *positions, *starts; /* [rows], [rows], [rows + 1] */
    /* of the backward direction */
    void *doutput;      /* [rows, width]: of the residual stream */
    void *dnormed;      /* [rows, width] */
    void *dq, *dk, *dv; /* as q, k, v */
    void *dattended;    /* as q */
    void *dgated;       /* [rows, inner] */
    void *dlow;         /* [rows, rank] */
    /* of the head's blocks */
    void *logits;                                                    /* [head_rows, vocab] */
    float *head_lse, *head_entropy, *head_dentropy, *head_collision; /* [head_rows] */
};

/* Bytes of one allocation that holds it all. `options` are with head_rows set. */
uint64_t lm_activations_bytes(const struct lm_model *model, const struct lm_pass_options *options);
/* Points into `memory`, which has that many bytes. `layers` is the caller's array, one for each
 * layer of the model. */
void lm_activations_carve(struct lm_activations *activations, struct lm_layer_arrays *layers,
                          const struct lm_model *model, const struct lm_pass_options *options,
                          void *memory);
