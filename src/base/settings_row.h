/* settings_row: the table of settings as the files that implement settings.h see it. */
#pragma once

#include "base/settings.h"

enum settings_kind {
    SETTINGS_KIND_STRING,
    SETTINGS_KIND_SECRET,
    SETTINGS_KIND_URL,
    SETTINGS_KIND_INT,
    SETTINGS_KIND_FLOAT,
    SETTINGS_KIND_BOOL,
    SETTINGS_KIND_DURATION,
    SETTINGS_KIND_BYTES
};

struct settings_row {
    const char *path;
    enum settings_kind kind;
    const char *standard;
    double low, high; /* inclusive; not for strings and booleans */
    const char *help;
    size_t offset; /* of the field in struct settings */
};

struct settings_unit {
    const char *name;
    double factor;
};

extern const struct settings_row settings_rows[SETTINGS_COUNT];
extern const struct settings_unit settings_durations[], settings_sizes[];

#define SETTINGS_VARIABLE_BYTES 64

bool settings_is_text(const struct settings_row *row);
bool settings_is_bounded(const struct settings_row *row);
/* "run.timeout_ms" as it stands in the environment behind WARPGYM_: "RUN_TIMEOUT_MS". */
void settings_variable_of(const char *path, char *name, size_t name_bytes);
void settings_print_value(struct buf *out, enum settings_kind kind, double value);

/* As settings_set; `source` says more of the origin (a line of a file, a variable) and is kept by
 * the settings. */
NODISCARD int settings_set_from(struct settings *settings, const char *path, const char *value,
                                enum settings_origin origin, const char *source, struct err *err);

/* KernelGYM's variables that mean the same as a setting (settings_kernelgym.c). */
NODISCARD int settings_read_kernelgym(struct settings *settings, char *const *environment,
                                      struct err *err);
/* Their names for one setting, NULL where `index` is past the last. */
const char *settings_kernelgym_name(const char *path, size_t index);
