/* apply: a model's parameters applied to rows, as passes (lm/model) and samplers (lm/sample) both
 * do it. */
#pragma once

#include "lm/model/model.h"

/* The ops of one parameter; a backward adds to its gradient, where it has one. */
struct lm_linear lm_linear_of(const struct lm_parameter *weight, size_t rows, const void *x,
                              void *y);
struct lm_rmsnorm lm_norm_of(const struct lm_model *model, const struct lm_parameter *weight,
                             size_t rows, const void *x, void *y);

/* y = x·Wᵀ + b + addend, and the adapter's part: `low` [rows, rank] becomes x·Aᵀ. `y` NULL: that
 * alone. */
void lm_project(const struct lm_model *model, const struct lm_projection *projection, size_t rows,
                const void *x, const void *addend, void *low, void *y);
