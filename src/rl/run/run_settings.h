/* run_settings: config.yaml of a run, and which settings may change when it resumes.
 *
 * Ownership: as said below. Threads: one at a time for each directory. Errors: ERR_INPUT, ERR_IO.
 */
#pragma once

#include "base/err.h"
#include "base/settings.h"

#include <jansson.h>

#define RUN_CONFIG "config.yaml"

/* "log.", a section, or "policy.url": rows of the table of settings that may change; NULL after the
 * last. */
const char *run_settings_may_differ(size_t index);

/* {PATH: value as text, …} of the settings that differ from the defaults, without secrets. A new
 * reference. */
json_t *run_settings_changed(const struct settings *settings);
/* A value of run_settings_changed without the quotes of a text; the caller's (mem_free). */
char *run_settings_unquote(const char *text);

/* Reads the file. `settings` is the caller's (settings_deinit), also after an error. */
NODISCARD int run_settings_read(const char *directory, struct settings *settings, struct err *err);
/* Writes the file, or compares it if the run has results already; if only settings that may change
 * differ, the file is written again. ERR_INPUT names the first other difference. */
NODISCARD int run_settings_settle(const char *directory, const struct settings *settings,
                                  struct err *err);
