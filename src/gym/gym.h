/* gym: what all episodes of a process share: templates, the machine's facts, examples, problems.
 *
 * Ownership: settings and search paths are borrowed for the gym's life. Threads: immutable after
 * gym_open and gym_withhold, so any number of threads may use it at once. Errors of gym_open: an
 * invalid template, a retrieval index that is named and missing.
 */
#pragma once

#include "base/err.h"
#include "base/paths.h"
#include "base/settings.h"

#include <jansson.h>
#include <stddef.h>

struct prompts;
struct retrieval;

struct gym {
    const struct settings *settings;
    const struct paths_list *search_paths; /* of problems */
    struct prompts *prompts;
    struct retrieval *retrieval; /* NULL: no index is configured */
    json_t *device;              /* prompt_device */
};

NODISCARD int gym_open(struct gym **out, const struct settings *settings,
                       const struct paths_list *search_paths, struct err *err);
/* No prompt shows an example, worked or retrieved, of these problems: the held-out ones.
 * [{"problem"}, …] of gym/episode/tasks.h. Call it before the first episode. */
NODISCARD int gym_withhold(struct gym *gym, const json_t *tasks, struct err *err);
/* NULL is fine. */
void gym_close(struct gym *gym);
