/* run_settings: config.yaml of a run, and which settings may be others when it goes on. */
#ifndef WARPGYM_RL_RUN_SETTINGS_H
#define WARPGYM_RL_RUN_SETTINGS_H

#include "base/err.h"
#include "base/settings.h"

#include <jansson.h>

#define RUN_CONFIG "config.yaml"

/* Writes the file, or checks that it has the same, if the run has made anything yet; where settings
 * that may differ do, it is written anew. ERR_INPUT names the first that may not. */
NODISCARD int run_settings_settle(const char *directory, const struct settings *settings,
                                  struct err *err);
/* As it stands there. `settings` is the caller's (settings_deinit), also after an error. */
NODISCARD int run_settings_read(const char *directory, struct settings *settings, struct err *err);

/* {PATH: value as text, …} of those that are not the standard, without secrets. A new reference. */
json_t *run_settings_told(const struct settings *settings);

/* A value as it is told, without the quotes that a text has there; the caller's. */
char *run_settings_plain(const char *told);

/* "log.", a section, or "policy.url": rows of the table; NULL behind the last. */
const char *run_settings_free(size_t index);

#endif
