/* attend: softmax(scale · q·kᵀ) · v for a block of query rows of one head, keys coming a piece at
 * a time (Dao et al. 2022; Milakov and Gimelshein 2018): what is held are the scores of one piece,
 * and the highest score and the sum of each row.
 */
#pragma once

#include "lm/cpu/cpu.h"

#define ATTEND_ROWS ((size_t)64)  /* query rows of a block, at most */
#define ATTEND_KEYS ((size_t)512) /* keys of a piece, at most */

/* What a block takes of a thread's scratch, in floats. */
#define ATTEND_SCRATCH (ATTEND_ROWS * ATTEND_KEYS + 2 * ATTEND_ROWS)

struct attend {
    const struct lm_cpu *cpu;
    size_t rows, width;
    size_t position; /* of the first row; row r sees keys 0 to position + r */
    float scale;
    const float *q;
    float *y;      /* the sum of values so far, not yet divided */
    size_t stride; /* of q and y */
    float *scores; /* [ATTEND_ROWS, ATTEND_KEYS] */
    float *highest, *sums;
};

/* The caller has set rows to stride; the rest lies in `scratch`. */
void attend_begin(struct attend *attend, float *scratch);
/* Keys `first` to first + count - 1, in order from 0. */
void attend_keys(struct attend *attend, size_t first, size_t count, const float *k, const float *v,
                 size_t stride);
/* Takes a piece of scores, [rows, count], to exponents; y and sums go down to the new highest. */
void attend_softmax(struct attend *attend, size_t first, size_t count);
/* Divides y; `lse`, where not NULL, gets one value each `lse_stride`. */
void attend_end(struct attend *attend, float *lse, size_t lse_stride);
