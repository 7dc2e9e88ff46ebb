/* settings_internal: the table of settings for the files that implement settings.h. */
#pragma once

#include "base/setting.h"

#include <stddef.h>

struct setting_state {
    unsigned char origin; /* enum settings_origin */
    const char *source;   /* of a file: its name */
    int line, column;     /* of a file; from 1 */
};

/* A row, by its number in all sections. */
struct setting_place {
    size_t index;
    const struct setting_section *section;
    const struct setting_row *row;
    size_t section_offset; /* of the section's struct in settings.values */
};

struct setting_unit {
    const char *name;
    double factor;
};
extern const struct setting_unit setting_durations[], setting_sizes[];

#define SETTING_VARIABLE_BYTES 64
#define SETTING_PATHS_MOST 512

/* for (place = setting_first(); place.row; setting_next(&place)) */
struct setting_place setting_first(void);
void setting_next(struct setting_place *place);
/* row NULL: there is none of that path, or number. */
struct setting_place setting_named(const char *path);
struct setting_place setting_numbered(size_t index);
/* The field of a value. */
void *setting_field(const struct settings *settings, const struct setting_place *place);

bool setting_is_text(const struct setting_row *row);
bool setting_is_bounded(const struct setting_row *row);
/* "run.timeout_ms" as it stands in the environment behind WARPGYM_: "RUN_TIMEOUT_MS". */
void setting_variable_of(const char *path, char *name, size_t name_bytes);
void setting_print_number(struct buf *out, enum setting_kind kind, double value);
/* "auto or 0 to 1", "trloo, grpo": what the row takes; nothing for a text. */
void setting_print_domain(struct buf *out, const struct setting_row *row);

/* Sets one value, not its state. */
NODISCARD int setting_assign(struct settings *settings, const struct setting_place *place,
                             const char *value, struct err *err);
/* ERR_INPUT, with the nearest path. */
int setting_unknown(const char *path, struct err *err);
