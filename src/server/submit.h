/* submit: turns evaluation requests into jobs.
 *
 *   submit_prepare  reads one request, decides what its job needs, and looks for a known result
 *   submit_put      puts all of them in one commit, if the queue has capacity
 *
 * To refuse, both fill the response and return false. Threads: handlers that may block. */
#pragma once

#include "base/hash.h"
#include "judge/request/request.h"
#include "server/internal.h"

struct submission {
    struct evaluation_request request; /* borrows from its JSON object */
    char key[HASH_HEX_BYTES];          /* "": results of other jobs do not apply */
    char problem[HASH_HEX_BYTES];      /* the hash of a known problem */
    const char *needs;
    char *payload;
    size_t payload_bytes;
    char *refusal;          /* a verdict, if the request is not to be evaluated */
    struct queue_job known; /* with its result, if there is one */
    bool is_known;
};

/* `where` prefixes errors ("evaluations[3]"); NULL: nothing. Call submit_deinit in any case. */
bool submit_prepare(struct service *service, const json_t *object, const char *where,
                    struct submission *out, struct http_response *response);
/* Call first if the id becomes part of a path. */
bool submit_check_id(const json_t *object, const char *where, struct http_response *response);
void submit_deinit(struct submission *submission);

/* puts: one for each submission; their put_id and put_result are filled. */
bool submit_put(struct service *service, struct submission *submissions, size_t count,
                const char *batch, struct queue_submission *puts, struct http_response *response);

/* "new", "joined", "answered", "cached", "replaced" */
const char *submission_result_name(const struct submission *submission,
                                   const struct queue_submission *put);
