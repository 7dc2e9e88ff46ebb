/* tinker_wire: the messages of the Tinker protocol: requests in JSON, and the meaning of its
 * answers. Pure.
 *
 * Answers are untrusted: an invalid count, id or number is ERR_PROTOCOL. Ownership: the caller's
 * storage; texts belong to the answer that they are in.
 */
#pragma once

#include "base/buf.h"
#include "base/limits.h"
#include "policy/train_backend.h"

/* A request is one JSON object: begin, add, end. Text above LIMIT_TINKER_BODY_BYTES is cut
 * (body->cut). */
void tinker_begin(struct buf *body);
void tinker_add_key(struct buf *body, const char *key); /* the caller appends its value */
void tinker_add_text(struct buf *body, const char *key, const char *text);
void tinker_add_number(struct buf *body, const char *key, uint64_t value);
void tinker_end(struct buf *body);

/* Appends a quoted text. */
void tinker_put_text(struct buf *body, const char *text);

/* Whether the protocol supports this loss, its options and these datums: ERR_INPUT. Completes
 * *config. */
NODISCARD int tinker_check_pass(const struct loss *loss, struct loss_config *config,
                                const struct lm_datum *datums, size_t count, struct err *err);
/* Checked datums. */
struct tinker_wire_pass {
    const struct loss *loss;
    const struct loss_config *config;
    const struct lm_datum *datums;
    size_t count;
};
/* {"data": […], "loss_fn", "loss_fn_config"}. A NaN or infinity becomes 0. */
void tinker_put_pass(struct buf *body, const struct tinker_wire_pass *pass);

/* loss_fn_config: names and values; returns their number. */
#define TINKER_OPTIONS 2
struct tinker_option {
    const char *name;
    double value;
};
size_t tinker_options(const struct loss *loss, const struct loss_config *config,
                      struct tinker_option options[TINKER_OPTIONS]);
/* The loss of this name, and one option of it: what a server reads. ERR_INPUT, with the names that
 * are known. */
NODISCARD int tinker_loss_read(const char *name, const struct loss **loss, struct err *err);
NODISCARD int tinker_option_read(const struct loss *loss, struct loss_config *config,
                                 const char *name, double value, struct err *err);
/* The weights of a datum, or *ones (mem_free; NULL: not needed) where it has none. */
const float *tinker_weights(const struct lm_datum *datum, float **ones);
/* The size of a datum by the service's count: 20 bytes a row, up to 50 as JSON. */
size_t tinker_datum_bytes(const struct lm_datum *datum);
/* The most of that for one body. */
#define TINKER_CHUNK_BYTES_MAX (LIMIT_TINKER_BODY_BYTES / 4)

struct tinker_question {
    const struct tokens *prompt;
    const struct train_backend_sampling *sampling;
    const int32_t *stops;
    size_t stop_count;
    const char *sampler;
    uint64_t number;
};
/* As fields of the body. */
void tinker_add_sample(struct buf *body, const struct tinker_question *question);

enum tinker_state { TINKER_DONE, TINKER_AGAIN, TINKER_FAILED };

/* The result of a poll with a success status. *why (NULL: none) is the server's reason.
 * TINKER_FAILED with *our_fault: the request is at fault. */
enum tinker_state tinker_read_future(const json_t *answer, const char **why, bool *mine);

/* The required text `key` of the answer to `request` ("create_model"); the caller's (mem_free). */
NODISCARD int tinker_read_text(const json_t *answer, const char *request, const char *key,
                               char **text, struct err *err);
/* Log-probabilities of datum `index` of a pass. */
NODISCARD int tinker_read_logprobs(const json_t *result, size_t index, float *logprobs,
                                   size_t count, struct err *err);
/* Tokens, logprobs, count and stopped. */
NODISCARD int tinker_read_sample(const json_t *result, size_t max_tokens,
                                 struct train_backend_answer *answer, struct err *err);
/* NAN: unknown. */
double tinker_read_norm(const json_t *result);

/* "tinker://RUN/weights/NAME"; its strings are the caller's (mem_free). */
struct tinker_path {
    char *run, *name;
};
NODISCARD int tinker_path_parse(struct tinker_path *path, const char *text, struct err *err);
void tinker_path_deinit(struct tinker_path *path);

/* Letters, digits, '_' and '-' alone, which every server accepts. The caller's (mem_free). */
char *tinker_name(const char *name, unsigned resend);
