#include "cli/report_options.h"

#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "problem/suite.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* "0.8,1,2": sorted, without duplicates. */
static int read_numbers(const char *option, const char *text, double low, double high, bool whole,
                        double *numbers, size_t *count, struct err *err)
{
    const char *at = text;
    *count = 0;
    do {
        char *end;
        double value = strtod(at, &end);
        if (end == at || (*end && *end != ','))
            return err_set(err, ERR_INPUT, "--%s: '%.100s' is not a list of numbers like 1,2,4",
                           option, text);
        if (!(value >= low && value <= high) || (whole && value != floor(value)))
            return err_set(err, ERR_INPUT, "--%s: %g is not %s from %g to %g", option, value,
                           whole ? "a whole number" : "a number", low, high);
        if (*count == REPORT_THRESHOLDS)
            return err_set(err, ERR_INPUT, "--%s: more than %d numbers", option, REPORT_THRESHOLDS);
        numbers[(*count)++] = value;
        at = *end ? end + 1 : NULL;
    } while (at);
    qsort(numbers, *count, sizeof *numbers, by_value);
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++)
        if (kept == 0 || numbers[i] != numbers[kept - 1])
            numbers[kept++] = numbers[i];
    *count = kept;
    return 0;
}

int report_read_thresholds(const char *p, const char *k, struct report_options *options,
                           struct err *err)
{
    double samples[REPORT_THRESHOLDS];
    int result = read_numbers("p", p, 0.001, 1e6, false, options->p, &options->p_count, err);
    if (result == 0)
        result = read_numbers("k", k, 1, 1e6, true, samples, &options->k_count, err);
    for (size_t i = 0; result == 0 && i < options->k_count; i++)
        options->k[i] = (size_t)samples[i];
    return result;
}

/* Names in a file: one a line, or {"problem": NAME}; `#` begins a comment. */
static int read_name(const char *path, size_t number, char *line, struct arena *arena,
                     struct cli_words *names, struct err *err)
{
    line += strspn(line, " \t\r");
    line[strcspn(line, "\r")] = '\0';
    size_t length = strlen(line);
    while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\t'))
        line[--length] = '\0';
    if (*line == '\0' || *line == '#')
        return 0;
    if (*line != '{') {
        cli_words_add(names, arena_strdup(arena, line));
        return 0;
    }
    json_t *object;
    const char *name;
    int result = json_parse_line(path, number, line, length, &object, err);
    if (result < 0)
        return result;
    result = json_get_string(object, "problem", &name, err);
    if (result == 0)
        cli_words_add(names, arena_strdup(arena, name));
    else
        err_prefix(err, "%s:%zu", path, number);
    json_decref(object);
    return result;
}

static int by_name(const void *a, const void *b)
{
    return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

/* In order, each once. */
static void sort_names(struct cli_words *names)
{
    size_t kept = 0;
    if (names->count > 0)
        qsort(names->items, names->count, sizeof *names->items, by_name);
    for (size_t i = 0; i < names->count; i++)
        if (kept == 0 || strcmp(names->items[i], names->items[kept - 1]) != 0)
            names->items[kept++] = names->items[i];
    names->count = kept;
}

static int read_names(const char *path, struct report_asked *asked, struct err *err)
{
    char *text, *rest;
    size_t count, number = 0;
    int result = file_read(path, LIMIT_JSONL_LINE_BYTES, &text, &count, err);
    if (result < 0)
        return result;
    rest = text;
    for (char *line; result == 0 && (line = strsep(&rest, "\n"));)
        result = read_name(path, ++number, line, &asked->arena, &asked->names, err);
    mem_free(text);
    if (result < 0)
        return result;
    if (!asked->names.items)
        return err_set(err, ERR_INPUT, "%s: names no problem", path);
    sort_names(&asked->names);
    return 0;
}

int report_ask_checkout(const struct paths_list *search_paths, struct report_asked *asked,
                        struct report_options *options, struct err *err)
{
    struct suite suite;
    int result = suite_open(&suite, search_paths, err);
    for (size_t i = 0; result == 0 && i < suite.count; i++)
        cli_words_add(&asked->names, arena_strdup(&asked->arena, suite.entries[i].id));
    suite_close(&suite);
    sort_names(&asked->names);
    options->problems = asked->names.items;
    options->problem_count = asked->names.count;
    options->whole_levels = true;
    return result;
}

int report_read_problems(const char *text, struct report_asked *asked,
                         struct report_options *options, struct err *err)
{
    if (!text)
        return 0;
    if (*text && text[strspn(text, "0123456789")] == '\0') {
        errno = 0;
        unsigned long total = strtoul(text, NULL, 10);
        if (errno != 0 || total == 0 || total > LIMIT_TRAJECTORIES)
            return err_set(err, ERR_INPUT, "--problems: %.40s is not a number from 1 to %d", text,
                           LIMIT_TRAJECTORIES);
        options->problem_total = total;
        return 0;
    }
    struct paths_list checkout = {.items = &text, .count = 1};
    bool directory = file_is_directory(text);
    int result = directory ? report_ask_checkout(&checkout, asked, options, err)
                           : read_names(text, asked, err);
    if (result < 0)
        return err_prefix(err, "--problems");
    options->problems = asked->names.items;
    options->problem_count = asked->names.count;
    return 0;
}

void report_asked_deinit(struct report_asked *asked)
{
    cli_words_deinit(&asked->names);
    arena_deinit(&asked->arena);
}
