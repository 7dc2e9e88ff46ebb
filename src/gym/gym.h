/* gym: what all episodes of a process share: templates, the machine's facts, examples, problems.
 *
 * Threads: immutable once open and told what to withhold, so any number of threads may use it at
 * once. Settings and search paths are borrowed for its life. Errors of gym_open: a template that is
 * none, a retrieval index that is named and not there.
 */
#ifndef WARPGYM_GYM_GYM_H
#define WARPGYM_GYM_GYM_H

#include "base/err.h"
#include "base/settings.h"

#include <jansson.h>
#include <stddef.h>

struct prompts;
struct retrieval;

struct gym {
    const struct settings *settings;
    const char *const *search_paths; /* of problems */
    size_t search_path_count;
    struct prompts *prompts;
    struct retrieval *retrieval; /* NULL: no index is configured */
    json_t *device;              /* prompt_device */
};

struct gym_options {
    const struct settings *settings;
    const char *const *search_paths;
    size_t search_path_count;
};

NODISCARD int gym_open(struct gym **out, const struct gym_options *options, struct err *err);
/* No prompt of any problem shows an example, worked or retrieved, of these: of what a model is
 * measured on. [{"problem"}, …] of gym/episode/tasks.h. Before the first episode. */
NODISCARD int gym_withhold(struct gym *gym, const json_t *tasks, struct err *err);
/* NULL is fine. */
void gym_close(struct gym *gym);

#endif
