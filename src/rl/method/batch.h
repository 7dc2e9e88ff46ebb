/* batch: the plain arrays that all methods of rl/ work on. A row is one turn of one rollout.
 *
 *   row    0 … rows - 1       prompt, rollout, turn, reward, drop, returns, advantage, …
 *   token  first[row] …       mask, trained, sampled: of the row's answer, never of its prompt
 *          first[row + 1] - 1
 *
 * Invariants (rl_batch_check): the rows of a rollout are contiguous, in ascending order of turns,
 * with one prompt; rollout numbers are unique. The order of rollouts has no effect.
 *
 * `drop` says why a row is not trained on; each method sets its own bit and honours those that its
 * settings name, so that the behaviour of the originals is a set of bits, too:
 *
 *   their order   void turns ─► mismatch ─► coverage ─► returns ─► filters ─► advantages
 *
 * Rows with a bit are not removed: their tokens weigh 0 (rl/method/tokens.h).
 *
 * Ownership: the arrays live in the caller's arena, for one step. Threads: pure; one at a time.
 */
#pragma once

#include "base/err.h"
#include "base/mem.h"
#include "base/word_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(symbol, bit, name); what each means stands where its method does */
#define RL_DROPS(X)                                                                                \
    X(RL_EXCLUDED, 0, "excluded") /* the infrastructure failed: no reward (gym/reward/reward.h) */ \
    X(RL_VOID, 1, "void")         /* a turn without reward after one with a reward (select.h) */   \
    X(RL_FAILED, 2, "failed")     /* a turn of a rollout with an excluded turn (select.h) */       \
    X(RL_MISMATCH, 3, "mismatch") /* outside the ratio bounds (mismatch.h) */                      \
    X(RL_VETO, 4, "veto")         /* an extreme token (mismatch.h) */                              \
    X(RL_COVERAGE, 5, "coverage") /* a lazy kernel (coverage_rejection.h) */                       \
    X(RL_CONSTANT, 6, "constant") /* a prompt whose answers are all alike (select.h) */            \
    X(RL_SURPLUS, 7, "surplus")   /* more than requested (select.h) */

enum rl_drop {
#define X(symbol, bit, name) symbol = 1 << (bit),
    RL_DROPS(X)
#undef X
        RL_ANY = 255,
    RL_REJECTED = RL_MISMATCH | RL_VETO | RL_COVERAGE, /* judged, but not trained on */
};
/* By bit; NULL behind the last. */
extern const char *const rl_drop_names[];

struct rl_batch {
    size_t rows, tokens;
    uint32_t *prompt;  /* [rows] which prompt of the step; any numbers */
    uint32_t *rollout; /* [rows] which rollout of the step: the same number after a resume */
    uint32_t *turn;    /* [rows] from 0 */
    double *reward;    /* [rows] finite; 0 where excluded */
    bool *correct;     /* [rows] */
    double *speedup;   /* [rows] NAN or 0: not measured */
    double *coverage;  /* [rows] 0 to 1; NAN: unknown */
    uint8_t *drop;     /* [rows] bits of enum rl_drop */
    double *returns;   /* [rows] of rl_returns */
    double *advantage; /* [rows] of rl_advantages: the mean of the row's tokens; 0 where dropped */
    size_t *first;     /* [rows + 1] */
    bool *mask;        /* [tokens] sampled by the model, and not rejected */
    float *trained;    /* [tokens] log-probability under the weights that are trained */
    float *sampled;    /* [tokens] log-probability when it was sampled */
    float *collision;  /* [tokens] Σ_a π(a)² of the trained weights; NAN: unknown */
    float *top;     /* [tokens] log-probability of the likeliest token there, when it was sampled;
                       * NAN, or a whole NULL: unknown */
    float *value;   /* [tokens] of a critic, before the token; 0: there is none */
    double *weight; /* [tokens] importance weight of rl_importance */
    double *offset; /* [tokens] of rl_advantages: a token's advantage beyond its row's */
};

/* Zeroed arrays, masks of true; the caller fills `first`. */
void rl_batch_alloc(struct rl_batch *batch, struct arena *arena, size_t rows, size_t tokens);
/* The same without trained, sampled, collision and value: the caller has them. */
void rl_batch_alloc_rows(struct rl_batch *batch, struct arena *arena, size_t rows, size_t tokens);
/* ERR_INTERNAL with the row: a violated invariant, or a reward that is not finite. */
NODISCARD int rl_batch_check(const struct rl_batch *batch, struct err *err);

/* The row after the last one of the rollout that begins at `row`. */
size_t rl_rollout_end(const struct rl_batch *batch, size_t row);
/* The number of unmasked tokens. */
size_t rl_row_tokens(const struct rl_batch *batch, size_t row);

enum rl_group {
    RL_BY_TURN,   /* the same turn of the same prompt */
    RL_BY_PROMPT, /* all turns of one prompt */
    RL_BY_BATCH,
};

/* Rows [start[g], start[g + 1]) of `rows` are group g: by ascending prompt and turn, and by row
 * within. */
struct rl_groups {
    size_t count, rows_count;
    size_t *start, *rows;
};

/* Groups of the rows without any of the bits `out`; `last_turn`: only each rollout's last of
 * them. */
void rl_groups_init(struct rl_groups *groups, const struct rl_batch *batch, enum rl_group by,
                    unsigned out, bool last_turn);
void rl_groups_deinit(struct rl_groups *groups);

/* Receives a metric by name ("mismatch/mismatch_kl"); the name is valid during the call. */
typedef void (*rl_put)(void *context, const char *name, double value);
