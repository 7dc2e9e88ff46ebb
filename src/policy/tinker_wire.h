/* tinker_wire: the protocol of the Tinker service as it goes over the wire: its requests, in JSON,
 * and what its answers mean. Pure.
 *
 * Answers are a stranger's: a count, an id or a number that cannot be is ERR_PROTOCOL. Ownership:
 * the caller's storage; texts belong to the answer that they are in.
 */
#ifndef WARPGYM_POLICY_TINKER_WIRE_H
#define WARPGYM_POLICY_TINKER_WIRE_H

#include "base/buf.h"
#include "base/limits.h"
#include "policy/train_backend.h"

/* ------------------------------------------------------------------------------------- requests */

/* A request is an object that is begun, added to and ended. What is above LIMIT_TINKER_BODY_BYTES
 * is cut off (body->cut). */
void tinker_begin(struct buf *body);
void tinker_add_key(struct buf *body, const char *key); /* its value is the caller's to put */
void tinker_add_text(struct buf *body, const char *key, const char *text);
void tinker_add_number(struct buf *body, const char *key, uint64_t value);
void tinker_end(struct buf *body);

/* Appends to what `body` holds, quoted. */
void tinker_put_text(struct buf *body, const char *text);

/* Whether the protocol has this loss with these options, and these datums: ERR_INPUT. *config is
 * filled in. */
NODISCARD int tinker_check_pass(const struct loss *loss, struct loss_config *config,
                                const struct lm_datum *datums, size_t count, struct err *err);
/* {"data": […], "loss_fn", "loss_fn_config"} of datums that were checked. A NaN or infinity becomes
 * 0. */
void tinker_put_pass(struct buf *body, const struct loss *loss, const struct loss_config *config,
                     const struct lm_datum *datums, size_t count);
/* What the service counts a datum as: 20 bytes a row, which are up to 50 of JSON. */
size_t tinker_datum_bytes(const struct lm_datum *datum);
/* As much of that as a body can hold. */
#define TINKER_CHUNK_BYTES_MAX (LIMIT_TINKER_BODY_BYTES / 4)

struct tinker_question {
    const struct tokens *prompt;
    const struct train_backend_sampling *sampling;
    const int32_t *stops;
    size_t stop_count;
    const char *sampler;
    uint64_t number;
};
/* As its fields. */
void tinker_add_sample(struct buf *body, const struct tinker_question *question);

/* -------------------------------------------------------------------------------------- answers */

enum tinker_state { TINKER_DONE, TINKER_AGAIN, TINKER_FAILED };

/* What came of a poll with a status of success. *why (NULL: nothing to say) is the server's
 * reason. TINKER_FAILED with *mine: what was asked is at fault. */
enum tinker_state tinker_read_future(const json_t *answer, const char **why, bool *mine);

/* The text `key`, which the answer to `request` ("create_model") cannot do without; the caller's
 * (mem_free). */
NODISCARD int tinker_read_text(const json_t *answer, const char *request, const char *key,
                               char **text, struct err *err);
/* Log-probabilities of datum `index` of a pass. */
NODISCARD int tinker_read_logprobs(const json_t *result, size_t index, float *logprobs,
                                   size_t count, struct err *err);
/* Tokens, logprobs, count and stopped. */
NODISCARD int tinker_read_sample(const json_t *result, size_t max_tokens,
                                 struct train_backend_answer *answer, struct err *err);
/* NAN: not told. */
double tinker_read_norm(const json_t *result);

/* "tinker://RUN/weights/NAME"; what it points to is the caller's (mem_free). */
struct tinker_path {
    char *run, *name;
};
NODISCARD int tinker_path_parse(struct tinker_path *path, const char *text, struct err *err);
void tinker_path_deinit(struct tinker_path *path);

/* Letters, digits, '_' and '-' alone, as every server takes them. The caller's (mem_free). */
char *tinker_name(const char *name, unsigned again);

#endif
