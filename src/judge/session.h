/* session: what one thread keeps from one evaluation to the next: above all the reference process
 * of the problem that it judged last. A candidate's process ends with its evaluation.
 *
 * Ownership: the caller's, until session_free. Threads: one at a time.
 */
#pragma once

#include "judge/judge.h"

struct session;

struct session *session_new(struct judge *judge);
void session_free(struct session *session);
