/* gym: what all episodes of a process share: templates, the machine's facts, examples, problems.
 *
 * Ownership: settings and search paths are borrowed for the gym's life. Threads: immutable
 * between gym_open, gym_withhold and gym_judged_* and gym_close, so any number of threads may use
 * it at once then. Errors of gym_open: an invalid template, an index that is named and missing.
 */
#pragma once

#include "base/err.h"
#include "base/paths.h"
#include "base/settings.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct prompts;
struct retrieval;

struct gym {
    const struct settings *settings;
    const struct paths_list *search_paths; /* of problems */
    struct prompts *prompts;
    struct retrieval *retrieval;       /* NULL: no index is configured */
    json_t *device;                    /* of gym_device */
    bool named;                        /* the setting gym.gpu describes the GPU: no worker does */
    json_t *(*workers)(void *context); /* a new reference; NULL: this process judges */
    void *workers_context;
};

NODISCARD int gym_open(struct gym **out, const struct settings *settings,
                       const struct paths_list *search_paths, struct err *err);
/* No prompt shows an example, worked or retrieved, of these problems: the held-out ones.
 * [{"problem"}, …] of gym/episode/tasks.h. Call it before the first episode. */
NODISCARD int gym_withhold(struct gym *gym, const json_t *tasks, struct err *err);
/* Workers judge, and may come and go: `workers` returns their registrations, as /v1/workers has
 * them. Before the first episode; it may be called from any thread until gym_close. */
void gym_judged_by(struct gym *gym, json_t *(*workers)(void *context), void *context);
/* A server judges (NULL: the setting client.url): prompts describe what its workers have now. If it
 * does not say, prompts say that the GPU is not known. Before the first episode. */
void gym_judged_on(struct gym *gym, const char *server);
/* The machine that judges, for a new episode's prompts (prompt.h). A new reference. */
json_t *gym_device(const struct gym *gym);
/* NULL is fine. */
void gym_close(struct gym *gym);
