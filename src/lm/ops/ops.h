/* ops: what a transformer is made of, each operation as one struct that its forward and its
 * backward share, and a table of pairs {forward, backward} that a backend fills.
 *
 * The struct holds sizes, inputs, outputs and gradients, and is filled once for both directions.
 * Arrays are row-major and dense, lie in the backend's memory (lm/ops/backend.h) and have the
 * backend's element type, unless a type stands here; the caller owns all of them. Index arrays
 * (tokens, positions, starts) are int32_t in the backend's memory, and were checked by the caller:
 * an op does no checking.
 *
 * Gradients, in every backward: those of parameters (dweight, dbias, dtable) are ADDED to what is
 * there, and a NULL says that the parameter is frozen; those of activations are written, or added
 * where the op has add_dx and it is set. A NULL dx is not computed.
 *
 * Ops return nothing: what a device reports late comes from lm_backend_wait().
 *
 * One result for one input: an op gives the same bits each time it is called with the same
 * arguments, backend and number of threads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lm_backend;

/* y[i] = table[tokens[i]] */
struct lm_embed {
    size_t rows, width;
    const int32_t *tokens; /* [rows], each below the table's rows */
    const void *table;     /* [vocab, width] */
    void *y;               /* [rows, width] */
    const void *dy;        /* [rows, width] */
    void *dtable;          /* [vocab, width] */
};

/* y = x / rms(x) * weight, rms(x) = sqrt(mean(x²) + epsilon) over each row. For qk-norm a row is
 * one head. (Zhang and Sennrich 2019, equation 4) */
struct lm_rmsnorm {
    size_t rows, width;
    float epsilon;
    const void *x;      /* [rows, width] */
    const void *weight; /* [width] */
    void *y;            /* [rows, width]; may be x where backward is never called */
    float *inverse;     /* [rows], 1/rms(x), kept for backward; NULL: never called */
    const void *dy;     /* [rows, width] */
    void *dx;           /* [rows, width] */
    bool add_dx;
    void *dweight; /* [width] */
};

/* y = scale · (x · weightᵀ + bias) + addend */
struct lm_linear {
    size_t rows, in, out;
    float scale;
    const void *x;      /* [rows, in] */
    const void *weight; /* [out, in] */
    const void *bias;   /* [out] or NULL */
    const void *addend; /* [rows, out] or NULL; may be y. Its gradient is dy: the caller's */
    void *y;            /* [rows, out] */
    const void *dy;     /* [rows, out] */
    void *dx;           /* [rows, in] */
    bool add_dx;
    void *dweight; /* [out, in] */
    void *dbias;   /* [out] */
};

/* Rotates each head's halves against each other, in place: for i < width/2 and the row's position p
 *   (a, b) = (x[i], x[i + width/2]) -> (a·cos[p][i] - b·sin[p][i], b·cos[p][i] + a·sin[p][i]);
 * backward turns dx back, in place. (Su et al. 2021, as Hugging Face's checkpoints have it) */
struct lm_rope {
    size_t rows, heads, width;
    const int32_t *positions;   /* [rows], each below the table's length */
    const float *cosine, *sine; /* [positions, width / 2] */
    void *x;                    /* [rows, heads, width] */
    void *dx;                   /* [rows, heads, width] */
};

/* Causal attention within each of several sequences that lie one behind the other; query head h
 * reads key and value head h / (heads / kv_heads). y = softmax(scale · q·kᵀ + mask) · v */
struct lm_attention {
    size_t rows, sequences, heads, kv_heads, width;
    size_t longest; /* rows of the longest sequence */
    float scale;
    const int32_t *starts; /* [sequences + 1]: sequence s is rows starts[s] to starts[s + 1] - 1 */
    const void *q;         /* [rows, heads, width] */
    const void *k, *v;     /* [rows, kv_heads, width] */
    void *y;               /* [rows, heads, width] */
    float *lse;            /* [rows, heads], log of the sum of exponents, kept for backward */
    const void *dy;
    void *dq, *dk, *dv; /* written, never added to */
};

/* New rows of several sequences go into the pages of their caches. Forward only. A page holds
 * `page` consecutive positions of one sequence; `pages[s * max_pages + i]` is the number of the
 * page that holds positions i·page onwards. */
struct lm_cache_write {
    size_t rows, kv_heads, width, page, max_pages;
    const int32_t *sequence;  /* [rows]: whose cache */
    const int32_t *positions; /* [rows]: where in it */
    const int32_t *pages;     /* [sequences, max_pages] */
    const void *k, *v;        /* [rows, kv_heads, width] */
    void *cache_k, *cache_v;  /* [all pages, page, kv_heads, width] */
};

/* Attention of new rows over the caches, which hold these rows already: row r of sequence s at
 * position p reads positions 0 to p. Forward only. */
struct lm_attention_paged {
    size_t rows, heads, kv_heads, width, page, max_pages;
    float scale;
    const int32_t *sequence, *positions; /* [rows]; rows of one sequence are neighbours, in order */
    const int32_t *pages;                /* [sequences, max_pages] */
    const void *q;                       /* [rows, heads, width] */
    const void *cache_k, *cache_v;       /* [all pages, page, kv_heads, width] */
    void *y;                             /* [rows, heads, width] */
};

/* y = gate · sigmoid(gate) · up (Shazeer 2020). y may be gate where backward is never called. */
struct lm_swiglu {
    size_t count;
    const void *gate, *up;
    void *y;
    const void *dy;
    void *dgate, *dup; /* may be gate and up: those are lost then */
};

/* Log-probabilities of given tokens, a block of rows at a time so that all logits of a long batch
 * never exist at once. Forward leaves in `logits` what backward turns into the logits' gradient:
 * call them in pairs on one block. logits = x · weightᵀ / temperature;
 *   logprob[r][j] = logits[r][target[r][j]] - lse[r],  lse = log Σ exp logits
 *   entropy[r]    = lse - Σ p·logits,  p = exp(logits - lse)
 *   collision[r]  = Σ p², the chance that two draws agree
 * Several targets for a row (targets_per_row > 1) are for soft targets: their gradients add up. */
struct lm_logprob {
    size_t rows, width, vocab, targets_per_row;
    float temperature;
    const void *x;          /* [rows, width] */
    const void *weight;     /* [vocab, width] */
    const int32_t *targets; /* [rows, targets_per_row] */
    void *logits;           /* [rows, vocab], scratch */
    float *lse;             /* [rows] */
    float *logprob;         /* [rows, targets_per_row] */
    float *entropy;         /* [rows], or NULL: not wanted */
    float *collision;       /* likewise */
    const float *dlogprob;  /* [rows, targets_per_row] */
    const float *dentropy;  /* [rows], or NULL: all 0 */
    void *dx;               /* [rows, width], written */
    void *dweight;          /* [vocab, width] */
};

/* *sum = Σ x². Forward only; the sum lies in the backend's memory. */
struct lm_square_sum {
    size_t count;
    const void *x;
    double *sum;
};

/* AdamW with decoupled decay (Loshchilov and Hutter 2019, algorithm 2). Forward only.
 *   g = gradient · gradient_scale;  m = β₁m + (1-β₁)g;  v = β₂v + (1-β₂)g²
 *   weight -= rate · (m/correction1 / (sqrt(v/correction2) + epsilon) + decay·weight)
 * where correction_i = 1 - β_iᵗ. */
struct lm_adamw {
    size_t count;
    void *weight;
    const void *gradient;
    float *m, *v;
    float rate, beta1, beta2, epsilon, decay, gradient_scale;
    double correction1, correction2;
};

/* X(name): struct lm_NAME is the operation's struct. */
#define LM_OPS(X)                                                                                  \
    X(embed)                                                                                       \
    X(rmsnorm)                                                                                     \
    X(linear)                                                                                      \
    X(rope)                                                                                        \
    X(attention)                                                                                   \
    X(cache_write)                                                                                 \
    X(attention_paged)                                                                             \
    X(swiglu)                                                                                      \
    X(logprob)                                                                                     \
    X(square_sum)                                                                                  \
    X(adamw)

/* ops->rmsnorm.forward(backend, &(struct lm_rmsnorm){…}); backward is NULL for forward-only ops. */
struct lm_ops {
#define X(name)                                                                                    \
    struct {                                                                                       \
        void (*forward)(struct lm_backend * backend, const struct lm_##name *op);                  \
        void (*backward)(struct lm_backend * backend, const struct lm_##name *op);                 \
    } name;
    LM_OPS(X)
#undef X
};
