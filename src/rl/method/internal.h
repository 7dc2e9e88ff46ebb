/* internal: what mismatch.c and mismatch_metrics.c share. Threads: pure. */
#pragma once

#include "rl/method/mismatch.h"

#define RL_EXPONENT_MOST 20.0

double rl_exp_clamped(double exponent);
bool rl_token_counts(const struct rl_batch *batch, size_t row, size_t token);
double rl_token_log_ratio(const struct rl_batch *batch, size_t token);
/* The row after the unit that begins at `row`: the turn, or the rollout. */
size_t rl_unit_end(const struct rl_batch *batch, enum rl_level level, size_t row);
/* 1 if no token counts. */
double rl_unit_ratio(const struct rl_batch *batch, enum rl_level level, size_t from, size_t to);
bool rl_within_bounds(const struct rl_ratio_bounds *bounds, double ratio);
/* [rows] */
void rl_find_vetoes(const struct rl_batch *batch, const struct rl_ratio_bounds *bounds,
                    bool *vetoed);
