/* state: what one service of the Tinker API consists of.
 *
 * One lock guards all tables, so that a session ends together with its runs and samplers: "with the
 * lock" in the other headers. It is held briefly, never while something is computed or saved. The
 * entries of a table are known to the file of that name alone, but for runs, which the training
 * thread works on.
 *
 * Ownership: service.c opens and frees; what the options name is the caller's. Threads: what stands
 * above the lock is constant while the service runs.
 */
#pragma once

#include "server/tinker/service.h"
#include "server/tinker/tinker_settings.h"

#include <pthread.h>

#define TINKER_RETRY_S 1 /* after which a client that was refused as busy comes again */

struct tinker_service {
    struct tinker_service_options options;
    char *directory, *model, *tokenizer_id;
    struct lm_backend *training; /* the training thread's */
    struct tinker_engines *engines;
    struct tinker_queue *queue;
    char archive_secret[40];

    pthread_mutex_t lock; /* all below */
    struct tinker_session *sessions;
    struct tinker_run *runs;
    struct tinker_sampler *samplers;
    struct tinker_futures *futures;
    uint64_t serial; /* of ids that no client numbers */
    size_t sampling; /* samples in the engines */
};

static inline const struct tinker_settings *tinker_of(const struct tinker_service *service)
{
    return tinker_settings(service->options.settings);
}
