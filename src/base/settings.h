/* settings: everything that a user may tune.
 *
 * Each module defines the sections that it owns (base/setting.h); config/sections.c lists them.
 * Sources in rising precedence: default, YAML file, environment, `key=value` from the command line.
 * A key that no section has is an error with the nearest name offered, in the environment too where
 * a variable is plainly meant as a setting (WARPGYM_<section>_…, or nearly a name); other WARPGYM_
 * variables pass, because container platforms invent some. KernelGYM's variables count where they
 * mean the same, below ours; a value that KernelGYM could not have read belongs to another program
 * and is ignored.
 *
 * Kinds: text; a secret, which is never shown; a URL, which is not shown if it holds a password; a
 * word of a closed list; an integer; a number; a boolean (true/false, yes/no, on/off, 1/0); a
 * duration in ms, or with a unit (250ms, 10s, 2m, 1h); a size in bytes, or with a unit (512MiB,
 * 2GiB, 1GB). `auto` and `none` are words of their own where a setting has them.
 *
 * Errors: a reader goes on behind an error. It adds each to `errors`, returns the code of its first
 * and copies that into `err`.
 *
 * Ownership: strings live in the struct's arena. Threads: immutable once read; share it freely.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

struct setting_error;
struct setting_section;
struct setting_state;

/* Values that need not be given. */
struct optional_int {
    bool given;
    int64_t value;
};
struct optional_float {
    bool given;
    double value;
};
struct optional_word {
    bool given;
    int value; /* of the enum */
};

struct setting_errors {
    struct arena arena;
    struct setting_error *first, *last;
    int code; /* of the first; 0: there is none */
};

struct settings {
    struct arena arena;
    void *values;                 /* of all sections */
    struct setting_state *states; /* where each value comes from */
    const char *file;             /* that settings_load has read; NULL: none */
    struct setting_errors errors;
};

enum settings_origin { ORIGIN_DEFAULT, ORIGIN_FILE, ORIGIN_ENVIRONMENT, ORIGIN_COMMAND_LINE };

/* Declares the section `name`, and name_settings(settings), its values; after its struct. */
#define SETTINGS_OF(name)                                                                          \
    extern const struct setting_section name##_section;                                            \
    static inline const struct name##_settings *name##_settings(const struct settings *settings)   \
    {                                                                                              \
        return settings_section(settings, &name##_section);                                        \
    }
const void *settings_section(const struct settings *settings,
                             const struct setting_section *section);

/* Defaults. */
void settings_init(struct settings *settings);
/* The values of `from`, which outlives the copy; they may be changed. */
void settings_copy(struct settings *settings, const struct settings *from);
void settings_deinit(struct settings *settings);

/* A file, then the environment. The file is the named one or $WARPGYM_CONFIG, which must exist,
 * else the first that is there of $XDG_CONFIG_HOME/warpgym/config.yaml and
 * /etc/warpgym/config.yaml. */
NODISCARD int settings_load(struct settings *settings, const char *file, struct err *err);
/* One "key=value" of the command line. */
NODISCARD int settings_assign(struct settings *settings, const char *assignment, struct err *err);
/* What no single value shows (min_samples <= max_samples): call it after the last source. */
NODISCARD int settings_check(struct settings *settings, struct err *err);
/* The same of one section; adds to `errors`, which may be of other settings. */
void settings_check_section(const struct settings *settings, const struct setting_section *section,
                            struct setting_errors *errors);

/* The parts of settings_load. `name` is how errors call the text. */
NODISCARD int settings_read_file(struct settings *settings, const char *path, struct err *err);
NODISCARD int settings_read_yaml(struct settings *settings, const char *name, const char *text,
                                 size_t count, struct err *err);
NODISCARD int settings_read_environment(struct settings *settings, char *const *environment,
                                        struct err *err);
NODISCARD int settings_set(struct settings *settings, const char *path, const char *value,
                           enum settings_origin origin, struct err *err);

/* Adds "FILE:LINE:COLUMN: text", with the place of the setting `path`, whose value is at fault; a
 * value that comes from no file has no place. */
void settings_refuse(struct setting_errors *errors, const struct settings *settings,
                     const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Adds what stands in `err`. */
void setting_errors_add(struct setting_errors *errors, const struct err *err);
/* The text of the error `index`, NULL behind the last. */
const char *setting_errors_at(const struct setting_errors *errors, size_t index);
/* The first error, copied; 0: there is none. */
NODISCARD int setting_errors_first(const struct setting_errors *errors, struct err *err);
void setting_errors_deinit(struct setting_errors *errors);

/* The table for people: path, type, default, bounds, help; as plain text and as Markdown. */
void settings_describe(struct buf *out);
void settings_describe_markdown(struct buf *out);
/* The values as a YAML file that reads back to the same, each with its origin as a comment. */
void settings_show(const struct settings *settings, struct buf *out);
/* The values of one section ("check"), a line each and nothing else. */
void settings_show_section(const struct settings *settings, const char *section, struct buf *out);

/* How many settings there are; of each, its path ("gym.turns") and its value as a YAML file has
 * it. */
size_t settings_count(void);
const char *settings_path(size_t index);
void settings_show_value(const struct settings *settings, size_t index, struct buf *out);
/* The value of a text, for modules below the one that owns its section. */
const char *settings_text(const struct settings *settings, const char *path);
/* Where the value of a setting comes from. */
enum settings_origin settings_origin(const struct settings *settings, const char *path);
/* The name of a file or of a variable; NULL: neither. */
const char *settings_source(const struct settings *settings, const char *path);
/* The first from `index` on that has another value in `b`, secrets apart, which no file shows;
 * settings_count(): there is none. */
size_t settings_difference(const struct settings *a, const struct settings *b, size_t index);

/* What is known of one setting on a machine. */
struct settings_choice {
    const char *path;
    const char *value; /* NULL: the default will do */
    const char *reason;
};

/* A YAML file for people to edit: chosen values with their reasons, everything else commented out
 * with its default. Lines of `header` become comments. */
void settings_template(const char *header, const struct settings_choice *choices, size_t count,
                       struct buf *out);
