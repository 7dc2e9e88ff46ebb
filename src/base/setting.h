/* setting: how a module defines its settings.
 *
 * A section ("check") is a plain struct of values in a header of its module, and a table of rows in
 * the .c file beside it, one for each field. The row has the default, the bounds or words, and the
 * help; YAML files, the environment, `key=value`, `--help`, docs/reference/settings.md and `config
 * check` follow from it:
 *
 *   struct check_settings {                        the header
 *       int64_t trials;
 *       enum check_order order;
 *   };
 *   SETTINGS_OF(check)
 *
 *   #define SECTION check                          the .c file
 *   static const struct setting_row check_rows[] = {
 *       SETTING_INT(trials, "3", 1, 1000, "Trials of a torch problem"),
 *       SETTING_WORD(order, "random", WORDS_IN(CHECK_ORDERS), "Order of the trials"),
 *   };
 *   SETTING_SECTION(check, check_rows);
 *   #undef SECTION
 *
 * A consumer includes the section's header and reads check_settings(settings)->trials. A row whose
 * field has another type than the row's kind does not compile. New sections go into the list in
 * config/sections.c.
 *
 * What a value may be besides: `absent` is the word for "not given" (auto: it is chosen; none:
 * there is none). A text is "" then, and an OPTIONAL field's `given` is false.
 */
#pragma once

#include "base/array.h"
#include "base/settings.h"
#include "base/word_table.h"

enum setting_kind {
    KIND_TEXT,
    KIND_SECRET, /* never shown */
    KIND_URL,    /* not shown if it holds a password */
    KIND_WORD,
    KIND_INT,
    KIND_FLOAT,
    KIND_BOOL,
    KIND_DURATION,
    KIND_BYTES
};

struct setting_row {
    const char *path; /* "check.trials" */
    enum setting_kind kind;
    bool optional; /* the field is one of struct optional_* */
    size_t offset; /* of the field in the section's struct */
    const char *standard, *help;
    const char *absent;             /* NULL: there is always a value */
    double low, high;               /* inclusive; of numbers */
    const struct word_table *words; /* of a word */
    /* The syntax of a text that is given; NULL: any. */
    int (*check)(const char *text, struct err *err);
};

/* Errors of one reading, in order. */
struct setting_error {
    const char *text;
    struct setting_error *next;
};

struct setting_section {
    const char *name;
    size_t size_bytes; /* of the struct */
    const struct setting_row *rows;
    size_t count;
    /* What no single value shows; adds each error with settings_refuse. NULL: nothing. */
    void (*check)(const struct settings *settings, struct setting_errors *errors);
};

/* All that base/ must know of the program's settings; config/sections.c defines it. */
struct setting_registry {
    const struct setting_section *const *sections; /* NULL behind the last */
    /* Our variables that are named otherwise than their settings ("TOKEN", behind WARPGYM_). */
    const char *(*short_variable)(const char *variable);
    /* Variables of another program that mean the same as a setting; they count below ours. */
    int (*read_foreign)(struct settings *settings, char *const *environment, struct err *err);
    const char *(*foreign_variable)(const char *path, size_t index); /* NULL behind the last */
};
extern const struct setting_registry setting_registry;

/* As settings_set; `source` says more of the origin (a variable), and is copied. */
NODISCARD int settings_set_from(struct settings *settings, const char *path, const char *value,
                                enum settings_origin origin, const char *source, struct err *err);

/* The rest makes rows; SECTION is the section's name. */
#define SETTING_JOIN2(a, b) a##b
#define SETTING_JOIN(a, b) SETTING_JOIN2(a, b)
#define SETTING_STRING2(a) #a
#define SETTING_STRING(a) SETTING_STRING2(a)
/* What the paths begin with. A file that has a part of another section ("train") redefines it. */
#define SETTING_NAME SETTING_STRING(SECTION)
#define SETTING_STRUCT struct SETTING_JOIN(SECTION, _settings)
#define SETTING_TYPE(field) __typeof__(((SETTING_STRUCT *)0)->field)
/* 0, if `holds`. */
#define SETTING_REQUIRE(holds) (0 * sizeof(char[(holds) ? 1 : -1]))
#define SETTING_IS(field, type)                                                                    \
    SETTING_REQUIRE(__builtin_types_compatible_p(SETTING_TYPE(field), type))
#define SETTING_FIELD(field, is_right)                                                             \
    .path = SETTING_NAME "." #field, .offset = offsetof(SETTING_STRUCT, field) + (is_right)

#define SETTING_TEXT(field, initial, meaning, ...)                                                 \
    {                                                                                              \
        SETTING_FIELD(field, SETTING_IS(field, const char *)),                                     \
            .kind = KIND_TEXT, .standard = (initial), .help = (meaning), __VA_ARGS__               \
    }
#define SETTING_SECRET(field, initial, meaning, ...)                                               \
    {                                                                                              \
        SETTING_FIELD(field, SETTING_IS(field, const char *)),                                     \
            .kind = KIND_SECRET, .standard = (initial), .help = (meaning), __VA_ARGS__             \
    }
#define SETTING_URL(field, initial, meaning, ...)                                                  \
    {                                                                                              \
        SETTING_FIELD(field, SETTING_IS(field, const char *)),                                     \
            .kind = KIND_URL, .standard = (initial), .help = (meaning), __VA_ARGS__                \
    }
/* The field is an enum of those words, or an int. */
#define SETTING_WORD(field, initial, table, meaning)                                               \
    {                                                                                              \
        SETTING_FIELD(field, SETTING_REQUIRE(sizeof(SETTING_TYPE(field)) == sizeof(int))),         \
            .kind = KIND_WORD, .standard = (initial), .words = (table), .help = (meaning)          \
    }
#define SETTING_OPTIONAL_WORD(field, initial, table, meaning)                                      \
    {                                                                                              \
        SETTING_FIELD(field, SETTING_IS(field, struct optional_word)),                             \
            .kind = KIND_WORD, .optional = true, .absent = "auto", .standard = (initial),          \
            .words = (table), .help = (meaning)                                                    \
    }
#define SETTING_INT(field, initial, least, most, meaning)                                          \
    {                                                                                              \
        SETTING_FIELD(field, SETTING_IS(field, int64_t)),                                          \
            .kind = KIND_INT, .standard = (initial), .low = (double)(least),                       \
            .high = (double)(most), .help = (meaning)                                              \
    }
#define SETTING_OPTIONAL_INT(field, initial, least, most, meaning)                                 \
    {                                                                                              \
        SETTING_FIELD(field, SETTING_IS(field, struct optional_int)),                              \
            .kind = KIND_INT, .optional = true, .absent = "auto", .standard = (initial),           \
            .low = (double)(least), .high = (double)(most), .help = (meaning)                      \
    }
#define SETTING_FLOAT(field, initial, least, most, meaning)                                        \
    {                                                                                              \
        SETTING_FIELD(field, SETTING_IS(field, double)),                                           \
            .kind = KIND_FLOAT, .standard = (initial), .low = (least), .high = (most),             \
            .help = (meaning)                                                                      \
    }
#define SETTING_OPTIONAL_FLOAT(field, none, initial, least, most, meaning)                         \
    {                                                                                              \
        SETTING_FIELD(field, SETTING_IS(field, struct optional_float)),                            \
            .kind = KIND_FLOAT, .optional = true, .absent = (none), .standard = (initial),         \
            .low = (least), .high = (most), .help = (meaning)                                      \
    }
#define SETTING_BOOL(field, initial, meaning)                                                      \
    {                                                                                              \
        SETTING_FIELD(field, SETTING_IS(field, bool)), .kind = KIND_BOOL, .standard = (initial),   \
                                                       .help = (meaning)                           \
    }
#define SETTING_DURATION(field, initial, least, most, meaning)                                     \
    {                                                                                              \
        SETTING_FIELD(field, SETTING_IS(field, int64_t)),                                          \
            .kind = KIND_DURATION, .standard = (initial), .low = (double)(least),                  \
            .high = (double)(most), .help = (meaning)                                              \
    }
#define SETTING_BYTES(field, initial, least, most, meaning)                                        \
    {                                                                                              \
        SETTING_FIELD(field, SETTING_IS(field, uint64_t)),                                         \
            .kind = KIND_BYTES, .standard = (initial), .low = (double)(least),                     \
            .high = (double)(most), .help = (meaning)                                              \
    }

#define SETTING_SECTION(tag, table, ...)                                                           \
    const struct setting_section tag##_section = {.name = SETTING_NAME,                            \
                                                  .size_bytes = sizeof(struct tag##_settings),     \
                                                  .rows = (table),                                 \
                                                  .count = COUNT(table),                           \
                                                  __VA_ARGS__}
