/* overlong: what an answer near its most tokens loses (Yu et al. 2025, DAPO, equation 13). Threads:
 * pure. */
#pragma once

#include <stddef.h>

/* 0 up to most - buffer tokens, `factor` at `most`, a line between and beyond. buffer 0: none. */
double rl_overlong_penalty(size_t tokens, size_t most, size_t buffer, double factor);
