/* options: command lines from tables, in the spirit of git's parse-options.
 *
 *   struct cli_option options[] = {
 *       OPTION_GROUP("Output"),
 *       OPTION_FLAG('q', "quiet", &quiet, "print verdicts only"),
 *       OPTION_INT('j', "jobs", &jobs, 1, 1024, "N", "evaluations at the same time"),
 *       OPTION_LIST('s', "set", &sets, "KEY=VALUE", "change a setting; may be repeated"),
 *       OPTION_END,
 *   };
 *
 * -q, -j4, -j 4, --jobs=4, --jobs 4, --no-quiet, `--` ends the options; options and other words may
 * mix. -h and --help belong to every command. Values are written through the table's pointers while
 * parsing; a pointer's content before is its default. Strings point into argv.
 *
 * Ownership: lists and words are the caller's (cli_words_deinit). Nothing here prints or exits.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cli_option_kind {
    CLI_OPTION_END,
    CLI_OPTION_GROUP,  /* a heading in the help */
    CLI_OPTION_FLAG,   /* bool *; --no-NAME clears it */
    CLI_OPTION_COUNT,  /* int *; -vv adds two, --no-NAME sets 0 */
    CLI_OPTION_STRING, /* const char ** */
    CLI_OPTION_INT,    /* int64_t *, within low..high */
    CLI_OPTION_FLOAT,  /* double *, within low..high */
    CLI_OPTION_CHOICE, /* int *: the index in `choices` */
    CLI_OPTION_LIST,   /* struct cli_words *: each use adds one; NULL: cli_run has it */
};

struct cli_words {
    const char **items; /* NULL-terminated once it has an item */
    size_t count;
};

struct cli_option {
    enum cli_option_kind kind;
    char letter;      /* 0: none */
    const char *name; /* without --; a group's heading */
    void *value;
    const char *placeholder; /* the value's name in the help */
    const char *help;
    double low, high;
    const char *const *choices; /* NULL-terminated */
    /* Of a string that gives a setting another name (cli_run assigns it): the setting's path; its
     * value if no source has one, or NULL; a value that is not the setting's, or NULL. */
    const char *setting, *standard, *except;
};

#define OPTION_END                                                                                 \
    {                                                                                              \
        .kind = CLI_OPTION_END                                                                     \
    }
#define OPTION_GROUP(heading)                                                                      \
    {                                                                                              \
        .kind = CLI_OPTION_GROUP, .name = (heading)                                                \
    }
#define OPTION_FLAG(l, n, v, h) CLI_OPTION_ROW(FLAG, bool, l, n, v, NULL, h, 0, 0, NULL)
#define OPTION_COUNT(l, n, v, h) CLI_OPTION_ROW(COUNT, int, l, n, v, NULL, h, 0, 0, NULL)
#define OPTION_STRING(l, n, v, p, h) CLI_OPTION_ROW(STRING, const char *, l, n, v, p, h, 0, 0, NULL)
#define OPTION_INT(l, n, v, from, to, p, h)                                                        \
    CLI_OPTION_ROW(INT, int64_t, l, n, v, p, h, from, to, NULL)
#define OPTION_FLOAT(l, n, v, from, to, p, h)                                                      \
    CLI_OPTION_ROW(FLOAT, double, l, n, v, p, h, from, to, NULL)
#define OPTION_CHOICE(l, n, v, names, p, h) CLI_OPTION_ROW(CHOICE, int, l, n, v, p, h, 0, 0, names)
#define OPTION_LIST(l, n, v, p, h) CLI_OPTION_ROW(LIST, struct cli_words, l, n, v, p, h, 0, 0, NULL)
/* The last arguments: .setting = "queue.url" and what else of it is needed. */
#define OPTION_SETTING(l, n, v, p, h, ...)                                                         \
    {                                                                                              \
        .kind = CLI_OPTION_STRING, .letter = (l), .name = (n),                                     \
        .value = (1 ? (v) : (const char **)0), .placeholder = (p), .help = (h), __VA_ARGS__        \
    }

/* The conditional makes a pointer of another type a warning. */
#define CLI_OPTION_ROW(k, type, l, n, v, p, h, from, to, names)                                    \
    {                                                                                              \
        .kind = CLI_OPTION_##k, .letter = (l), .name = (n), .value = (1 ? (v) : (type *)0),        \
        .placeholder = (p), .help = (h), .low = (from), .high = (to), .choices = (names)           \
    }

#define CLI_MANY SIZE_MAX

struct cli_call;
struct cli_command {
    const char *name;        /* "eval", "problem check" */
    const char *heading;     /* of those from here to the next heading; NULL: the one before */
    const char *arguments;   /* behind the options in the usage line: "PROBLEM CANDIDATE..." */
    const char *summary;     /* one line */
    const char *description; /* paragraphs, or NULL */
    const char *examples;    /* lines, or NULL */
    struct {
        size_t least, most; /* how many arguments; nothing here: any number, none without a usage */
        const char *wanted; /* what they are, for an error: "a run" */
    } words;
    int (*run)(struct cli_call *call); /* returns the exit status */
};

/* The commands whose names begin with this word. */
struct cli_family {
    const char *name, *summary;
};

#define OPTIONS_HELP 1 /* options_parse saw -h or --help */

/* argv[0] is skipped. 0, OPTIONS_HELP, or ERR_INPUT with one line that names the option. Words that
 * are no options go to `words` in order (empty beforehand). */
NODISCARD int options_parse(const struct cli_option *options, int argc, char **argv,
                            struct cli_words *words, struct err *err);

/* The command that argv begins with (argv[0] is its first word), among `commands`, which end with a
 * NULL name. A name of two words ("problem check") takes two of argv; *used says how many. NULL:
 * ERR_INPUT, with the nearest name or the possible second words. */
const struct cli_command *options_command(const struct cli_command *commands, int argc, char **argv,
                                          int *used, struct err *err);

/* Help of one command, and the list of commands: all (NULL), or those of a family; says how many.
 * `width`: columns to fill, 0 for 80. */
void options_help(const struct cli_command *command, const struct cli_option *options,
                  const char *program, int width, struct buf *out);
size_t options_overview(const struct cli_command *commands, const char *family, int width,
                        struct buf *out);
/* All of them under their headings, with one row for each family, which a {0} ends. */
void options_groups(const struct cli_command *commands, const struct cli_family *families,
                    int width, struct buf *out);
bool options_takes_value(const struct cli_option *option);
/* The choices of an option, with `between` them. */
void options_put_choices(const struct cli_option *option, const char *between, struct buf *out);
/* Whether a command's name begins with this word, and has another one. */
bool options_is_of(const struct cli_command *command, const char *family);

void cli_words_add(struct cli_words *words, const char *word);
void cli_words_deinit(struct cli_words *words);
