/* submit: from evaluation requests to jobs.
 *
 *   submit_prepare  reads one request, says what its job needs, and whether its result is known
 *   submit_put      puts all of them in one commit, if the queue has room
 *
 * Each refuses by filling the response and answering false. Threads: handlers that may block.
 */
#ifndef WARPGYM_SERVER_SUBMIT_H
#define WARPGYM_SERVER_SUBMIT_H

#include "base/hash.h"
#include "judge/request/request.h"
#include "server/service_internal.h"

struct submission {
    struct evaluation_request request; /* borrows from the object it was read from */
    char key[HASH_HEX_BYTES];          /* "": no result of another job will do */
    char problem[HASH_HEX_BYTES];      /* the hash of a known one */
    const char *needs;
    char *payload;
    size_t payload_bytes;
    char *refusal;          /* a verdict, where it is not to be judged */
    struct queue_job known; /* with its result, where there is one */
    bool is_known;
};

/* `where` goes before errors ("evaluations[3]"); NULL: nothing. submit_deinit in any case. */
bool submit_prepare(struct service *service, const json_t *object, const char *where,
                    struct submission *out, struct http_response *response);
/* Before it, where the id is to be part of a path of ours. */
bool submit_check_id(const json_t *object, const char *where, struct http_response *response);
void submit_deinit(struct submission *submission);

/* puts: one for each submission, whose put_id and putting are what came of it. */
bool submit_put(struct service *service, struct submission *submissions, size_t count,
                const char *batch, struct queue_submission *puts, struct http_response *response);

/* "new", "joined", "answered", "cached", "replaced" */
const char *submit_putting(const struct submission *submission, const struct queue_submission *put);

#endif
