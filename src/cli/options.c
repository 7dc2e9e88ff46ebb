#include "cli/options.h"

#include "base/mem.h"
#include "base/suggest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 128

void cli_words_add(struct cli_words *words, const char *word)
{
    words->items = mem_resize(words->items, (words->count + 2) * sizeof *words->items);
    words->items[words->count++] = word;
    words->items[words->count] = NULL;
}

void cli_words_deinit(struct cli_words *words)
{
    mem_free(words->items);
    *words = (struct cli_words){0};
}

static bool takes_value(const struct cli_option *option)
{
    return option->kind >= CLI_OPTION_STRING;
}

static int assign_number(const struct cli_option *option, const char *shown, const char *text,
                         struct err *err)
{
    char *end = NULL;
    double number;
    errno = 0;
    if (option->kind == CLI_OPTION_INT) {
        long long whole = strtoll(text, &end, 10);
        number = (double)whole;
        if (*text && *end == '\0' && errno == 0 && number >= option->low &&
            number <= option->high) {
            *(int64_t *)option->value = whole;
            return 0;
        }
    } else {
        number = strtod(text, &end);
        if (*text && *end == '\0' && number >= option->low && number <= option->high) {
            *(double *)option->value = number;
            return 0;
        }
    }
    return err_set(err, ERR_INPUT, "%s: '%.60s' is not %s from %.15g to %.15g", shown, text,
                   option->kind == CLI_OPTION_INT ? "a whole number" : "a number", option->low,
                   option->high);
}

static int assign_choice(const struct cli_option *option, const char *shown, const char *text,
                         struct err *err)
{
    size_t count = 0;
    for (; option->choices[count]; count++)
        if (strcmp(option->choices[count], text) == 0) {
            *(int *)option->value = (int)count;
            return 0;
        }
    err_unknown(err, "value", text, option->choices, count);
    return err_prefix(err, "%s", shown);
}

/* `text` is the value, "" for a flag; `shown` is the option as the user wrote it. */
static int option_assign(const struct cli_option *option, const char *shown, const char *text,
                         struct err *err)
{
    switch (option->kind) {
    case CLI_OPTION_FLAG:
        *(bool *)option->value = true;
        return 0;
    case CLI_OPTION_COUNT:
        ++*(int *)option->value;
        return 0;
    case CLI_OPTION_STRING:
        *(const char **)option->value = text;
        return 0;
    case CLI_OPTION_LIST:
        cli_words_add(option->value, text);
        return 0;
    case CLI_OPTION_CHOICE:
        return assign_choice(option, shown, text, err);
    default:
        return assign_number(option, shown, text, err);
    }
}

/* --no-NAME */
static int option_negate(const struct cli_option *option, struct err *err)
{
    if (option->kind == CLI_OPTION_FLAG)
        *(bool *)option->value = false;
    else if (option->kind == CLI_OPTION_COUNT)
        *(int *)option->value = 0;
    else
        return err_set(err, ERR_INPUT, "--no-%s: --%s takes a value and has no opposite",
                       option->name, option->name);
    return 0;
}

struct scan {
    const struct cli_option *options;
    int argc;
    char **argv;
    int at;
    struct err *err;
};

static const struct cli_option *by_name(const struct scan *scan, const char *name, size_t length)
{
    for (const struct cli_option *option = scan->options; option->kind != CLI_OPTION_END; option++)
        if (option->kind != CLI_OPTION_GROUP && option->name && strlen(option->name) == length &&
            strncmp(option->name, name, length) == 0)
            return option;
    return NULL;
}

static const struct cli_option *by_letter(const struct scan *scan, char letter)
{
    for (const struct cli_option *option = scan->options; option->kind != CLI_OPTION_END; option++)
        if (option->kind != CLI_OPTION_GROUP && option->letter == letter)
            return option;
    return NULL;
}

static int unknown_name(const struct scan *scan, const char *name, struct err *err)
{
    const char *names[NAMES_MAX];
    size_t count = 0;
    for (const struct cli_option *option = scan->options; option->kind != CLI_OPTION_END; option++)
        if (option->kind != CLI_OPTION_GROUP && option->name && count < NAMES_MAX - 1)
            names[count++] = option->name;
    names[count++] = "help";
    bool negated = strncmp(name, "no-", 3) == 0;
    const char *near = suggest_name(negated ? name + 3 : name, names, count);
    if (near)
        return err_set(err, ERR_INPUT, "unknown option '--%.60s'; did you mean '--%s%s'?", name,
                       negated ? "no-" : "", near);
    return err_set(err, ERR_INPUT, "unknown option '--%.60s'; --help lists all of them", name);
}

/* The value of an option: the attached text, or the next word. */
static int value_of(struct scan *scan, const struct cli_option *option, const char *shown,
                    const char *attached, const char **value)
{
    if (attached) {
        *value = attached;
        return 0;
    }
    if (scan->at + 1 >= scan->argc)
        return err_set(scan->err, ERR_INPUT, "%s needs a value: %s %s", shown, shown,
                       option->placeholder ? option->placeholder : "VALUE");
    *value = scan->argv[++scan->at];
    return 0;
}

static int parse_long(struct scan *scan, const char *text)
{
    size_t length = strcspn(text, "=");
    const char *attached = text[length] == '=' ? text + length + 1 : NULL;
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    if (strcmp(name, "help") == 0 && !attached)
        return OPTIONS_HELP;
    const struct cli_option *option = by_name(scan, text, length);
    bool negated = !option && strncmp(text, "no-", 3) == 0;
    if (negated)
        option = by_name(scan, text + 3, length - 3);
    if (!option)
        return unknown_name(scan, name, scan->err);
    if (attached && (negated || !takes_value(option)))
        return err_set(scan->err, ERR_INPUT, "--%s takes no value", name);
    if (negated)
        return option_negate(option, scan->err);
    char shown[72];
    const char *value = "";
    snprintf(shown, sizeof shown, "--%s", name);
    if (takes_value(option)) {
        int result = value_of(scan, option, shown, attached, &value);
        if (result < 0)
            return result;
    }
    return option_assign(option, shown, value, scan->err);
}

/* One word of cluster: -q, -qv, -j4, -qj 4. */
static int parse_cluster(struct scan *scan, const char *cluster)
{
    for (; *cluster; cluster++) {
        char shown[] = {'-', *cluster, '\0'};
        const struct cli_option *option = by_letter(scan, *cluster);
        const char *value = "";
        if (!option && *cluster == 'h')
            return OPTIONS_HELP;
        if (!option)
            return err_set(scan->err, ERR_INPUT, "unknown option '%s'; --help lists all of them",
                           shown);
        bool wants = takes_value(option);
        if (wants) {
            int result = value_of(scan, option, shown, cluster[1] ? cluster + 1 : NULL, &value);
            if (result < 0)
                return result;
        }
        int result = option_assign(option, shown, value, scan->err);
        if (result < 0 || wants)
            return result;
    }
    return 0;
}

int options_parse(const struct cli_option *options, int argc, char **argv, struct cli_words *words,
                  struct err *err)
{
    struct scan scan = {.options = options, .argc = argc, .argv = argv, .err = err};
    bool open = true;
    for (scan.at = 1; scan.at < argc; scan.at++) {
        const char *word = argv[scan.at];
        int result = 0;
        /* "-" alone is a word: standard input. */
        if (!open || word[0] != '-' || word[1] == '\0')
            cli_words_add(words, word);
        else if (strcmp(word, "--") == 0)
            open = false;
        else if (word[1] == '-')
            result = parse_long(&scan, word + 2);
        else
            result = parse_cluster(&scan, word + 1);
        if (result != 0)
            return result;
    }
    return 0;
}

/* How many words of argv the name matches, 0 if it does not. */
static int command_matches(const char *name, int argc, char **argv)
{
    int word = 0;
    for (;; word++) {
        size_t length = strcspn(name, " ");
        if (word >= argc || strlen(argv[word]) != length || strncmp(argv[word], name, length) != 0)
            return 0;
        if (name[length] == '\0')
            return word + 1;
        name += length + 1;
    }
}

/* `problem` alone, or with a wrong second word: lists the valid ones. */
static bool needs_second(const struct cli_command *commands, const char *first, struct err *err)
{
    struct buf list;
    size_t length = strlen(first);
    buf_init(&list, 400);
    for (; commands->name; commands++)
        if (strncmp(commands->name, first, length) == 0 && commands->name[length] == ' ')
            buf_printf(&list, "%s%s", list.len ? ", " : "", commands->name + length + 1);
    bool found = list.len > 0;
    if (found)
        err_set(err, ERR_INPUT, "'%.60s' needs one of: %s", first, list.data);
    buf_deinit(&list);
    return found;
}

const struct cli_command *options_command(const struct cli_command *commands, int argc, char **argv,
                                          int *used, struct err *err)
{
    const struct cli_command *best = NULL;
    const char *names[NAMES_MAX];
    size_t count = 0;
    *used = 0;
    for (const struct cli_command *command = commands; command->name; command++) {
        int words = command_matches(command->name, argc, argv);
        if (words > *used) {
            best = command;
            *used = words;
        }
        if (count < NAMES_MAX)
            names[count++] = command->name;
    }
    if (best)
        return best;
    if (argc < 1) {
        err_set(err, ERR_INPUT, "a command is missing");
        return NULL;
    }
    if (needs_second(commands, argv[0], err))
        return NULL;
    err_unknown(err, "command", argv[0], names, count);
    return NULL;
}
