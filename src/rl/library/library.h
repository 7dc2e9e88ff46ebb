/* library: what the public header (warpgym_rl.h) and `warpgym rl compute` share.
 *
 *   arrays of a trainer ─► rl_order ─► struct rl_batch ─► rl/method ─► arrays in the same order
 *
 * Ownership: arrays are the caller's; what is made of them lives in an arena for one call. Threads:
 * pure. Errors: ERR_INPUT names row, token and array.
 */
#pragma once

#include "base/mem.h"
#include "rl/method/method_settings.h"
#include "warpgym_rl.h"

struct rl_library_options {
    struct rl_method method; /* checked */
    double kl, kl_discount;
    uint64_t seed, step;
    size_t wanted;
};

/* What the settings say, with the caller's gamma (NaN: the method's) and plan (a count of 0: the
 * release's). */
NODISCARD int rl_library_options_take(struct rl_library_options *options,
                                      const struct method_settings *settings, double gamma,
                                      const struct rl_plan *plan, struct err *err);
NODISCARD int rl_library_step(const struct warpgym_rl_rows *rows,
                              const struct rl_library_options *options,
                              struct warpgym_rl_result *result, struct err *err);

/* For the public functions: 0, or -1 with the sentence; `error` may be NULL. */
int rl_library_status(int status, const struct err *err, struct warpgym_rl_error *error);
/* The settings of a list as of struct warpgym_rl_options; settings_deinit, on failure too. */
NODISCARD int rl_library_settings(struct settings *settings, const char *const *list,
                                  struct err *err);

/* Rows as rl_batch wants them. */
struct rl_order {
    bool given;        /* rows lie so already; `row` is 0, 1, 2, … */
    size_t *row;       /* [rows] the caller's row */
    uint32_t *rollout; /* [rows] in that order */
    uint32_t *turn;    /* likewise */
};
/* Checks prompts, rollouts and turns. */
NODISCARD int rl_order_find(struct rl_order *order, struct arena *arena,
                            const struct warpgym_rl_rows *rows, struct err *err);
/* Makes the batch; checks everything else that does not depend on a method. */
NODISCARD int rl_batch_read(struct rl_batch *batch, struct arena *arena,
                            const struct warpgym_rl_rows *rows, const struct rl_order *order,
                            struct err *err);
/* The tokens of `from` in the batch's order: itself where they lie so already; NULL for NULL. */
const float *rl_order_floats(const struct rl_batch *batch, struct arena *arena,
                             const struct warpgym_rl_rows *rows, const struct rl_order *order,
                             const float *from);
/* Where the tokens of the caller's row begin. */
size_t rl_row_begin(const struct warpgym_rl_rows *rows, size_t row);
