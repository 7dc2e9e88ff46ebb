/* layer: one block of the transformer, forward and backward; for lm/model/pass.c alone.
 *
 *   input ─► norm ─► q, k, v ─► (norm of heads) ─► rope ─► attention ─► o ─┬─► middle
 *     └────────────────────────────────────────────────────────────────────┘
 *   middle ─► norm ─► gate, up ─► swiglu ─► down ─┬─► output
 *     └───────────────────────────────────────────┘
 */
#pragma once

#include "lm/model/activations.h"

/* A batch under way, and what it is computed with. */
struct lm_flow {
    struct lm_model *model;
    struct lm_activations all;
    size_t rows, sequences, longest;
};

/* `output` NULL: all but what backward does not need, the last product. */
void lm_layer_forward(const struct lm_flow *flow, size_t index, void *output);
/* doutput becomes the gradient of the layer's input; the layer's arrays are lost. */
void lm_layer_backward(const struct lm_flow *flow, size_t index);

/* The norm of all rows of the residual stream. */
struct lm_rmsnorm lm_stream_norm(const struct lm_flow *flow, const struct lm_parameter *weight,
                                 const void *x, void *y, float *inverse);
