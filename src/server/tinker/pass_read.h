/* pass_read: the datums of forward_backward, from both encodings of the protocol, as the engine
 * takes them. Pure.
 *
 *   protocol buffers (SDK since 0.25) ─┐
 *                                      ├─► tokens and arrays of a datum ─► struct lm_datum
 *   JSON (SDK up to 0.24)            ─┘
 *
 * Bytes are untrusted: ERR_INPUT or ERR_PROTOCOL, with the datum that is at fault. Model and number
 * are known also after an error, if the request could be read so far: a numbered request that is
 * refused must not hold up those behind it.
 *
 * Ownership: everything lies in the arena of the pass.
 */
#pragma once

#include "base/json.h"
#include "base/mem.h"
#include "lm/train/trainer.h"

struct tinker_pass {
    struct arena arena;
    const char *model; /* NULL: could not be read */
    int64_t number;    /* -1: none */
    bool forward;      /* without gradients */
    const struct loss *loss;
    struct loss_config config;
    struct lm_datum *datums;
    size_t *columns; /* of each datum's targets; 0: they are a plain list */
    size_t count, tokens;
    size_t numbers; /* in the arena that a small body may ask for: bounded */
};

NODISCARD int tinker_pass_read_proto(struct tinker_pass *pass, const void *bytes, size_t count,
                                     struct err *err);
/* `input`: the name of the member with data, loss and config ("forward_backward_input"). */
NODISCARD int tinker_pass_read_json(struct tinker_pass *pass, const json_t *body, const char *input,
                                    struct err *err);
void tinker_pass_deinit(struct tinker_pass *pass);

/* The tokens of a ModelInput in JSON, in the arena. */
NODISCARD int tinker_tokens_read_json(const json_t *input, struct arena *arena, int32_t **tokens,
                                      size_t *count, struct err *err);
