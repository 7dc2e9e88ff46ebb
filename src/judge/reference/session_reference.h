/* session_reference: the reference of the problem at hand. A session has it, takes it from the
 * judge's cache, or puts it there. Threads: the session's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct problem;
struct session;

/* What is judged next, by the session's settings. */
void session_take_problem(struct session *session, const struct problem *problem);
/* Whether the session has the reference of the problem at hand, alive; takes it from the cache if
 * it is there. */
bool session_reference_ready(struct session *session);
/* Puts it into the cache, or ends it if it cannot be called again. */
void session_rest_reference(struct session *session);
/* From which the weights of the problem at hand follow, in all its references and candidates. */
uint64_t session_weight_seed(const struct session *session);
