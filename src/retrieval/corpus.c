#include "retrieval/corpus.h"

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/lines.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "retrieval/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const struct corpus_form corpus_forms[] = {
    {.name = "kernelbook", .fields = {"python_code", "triton_code"}, .line = corpus_kernelbook},
    {.name = "archive", .fields = {"PyTorch_Code_Module", "CUDA_Code"}, .line = corpus_archive},
    {.name = "pairs", .fields = {"reference", "solution", "language"}, .line = corpus_pairs},
    {.name = "trajectories", .fields = {"episode", "turns"}, .line = corpus_trajectory},
    {.name = "problems", .recognises = corpus_is_problems, .directory = corpus_problems},
    {.name = "directory", .recognises = corpus_is_folders, .directory = corpus_folders},
};
#define FORM_COUNT COUNT(corpus_forms)

const char *corpus_fate_name(enum corpus_fate fate)
{
    static const char *const names[CORPUS_FATES] = {
        [CORPUS_TAKEN] = "taken",       [CORPUS_WRONG] = "incorrect",
        [CORPUS_EMPTY] = "empty",       [CORPUS_LARGE] = "too large",
        [CORPUS_UNSOLVED] = "unsolved", [CORPUS_FOREIGN] = "of unknown problems",
    };
    return names[fate];
}

static enum corpus_fate check_bounds(const struct example *example)
{
    if (example->reference[strspn(example->reference, " \t\r\n")] == '\0' ||
        example->solution[strspn(example->solution, " \t\r\n")] == '\0')
        return CORPUS_EMPTY;
    return utf8_count(example->reference) > LIMIT_EXAMPLE_REFERENCE_CHARS ||
                   utf8_count(example->solution) > LIMIT_EXAMPLE_SOLUTION_CHARS
               ? CORPUS_LARGE
               : CORPUS_TAKEN;
}

int reading_take(struct reading *reading, const struct example *example)
{
    enum corpus_fate fate = check_bounds(example);
    reading->counts->fates[fate]++;
    return fate == CORPUS_TAKEN ? reading->visit(reading->context, example) : 0;
}

void reading_complain(struct reading *reading, const struct err *err)
{
    struct corpus_counts *counts = reading->counts;
    if (counts->bad < CORPUS_COMPLAINTS)
        snprintf(counts->complaints[counts->bad], sizeof *counts->complaints, "%s", err->text);
    counts->bad++;
}

static bool has_fields(const struct corpus_form *form, const json_t *line)
{
    for (size_t i = 0; form->fields[i]; i++)
        if (!json_object_get(line, form->fields[i]))
            return false;
    return form->line != NULL;
}

/* The form of a line: the requested one, or that of the lines before it. */
static const struct corpus_form *form_of(const struct corpus *corpus, const json_t *line)
{
    const struct corpus_form *wanted = corpus->form ? corpus->form : corpus->met;
    if (wanted)
        return has_fields(wanted, line) ? wanted : NULL;
    for (size_t i = 0; i < FORM_COUNT; i++)
        if (has_fields(&corpus_forms[i], line))
            return &corpus_forms[i];
    return NULL;
}

/* "python_code and triton_code" */
static void fields_text(const struct corpus_form *form, char *text, size_t text_bytes)
{
    text[0] = '\0';
    for (size_t i = 0; form->fields[i]; i++) {
        size_t used = strlen(text);
        snprintf(text + used, text_bytes - used, "%s%s", i ? ", " : "", form->fields[i]);
    }
}

int corpus_read_line(struct corpus *corpus, const json_t *line, struct example *example,
                     enum corpus_fate *fate, struct err *err)
{
    const struct corpus_form *form = form_of(corpus, line);
    const struct corpus_form *wanted = corpus->form ? corpus->form : corpus->met;
    char fields[128];
    *example = (struct example){"", "", "", "", "", "", "", "", 0};
    if (!form && wanted) {
        fields_text(wanted, fields, sizeof fields);
        return err_set(err, ERR_INPUT, "not a line of %s: it must have %s", wanted->name, fields);
    }
    if (!form)
        return err_set(err, ERR_INPUT,
                       "of no known form: expected python_code and triton_code, "
                       "PyTorch_Code_Module and CUDA_Code, reference and solution and language, "
                       "or episode and turns");
    *fate = CORPUS_TAKEN;
    example->source = form->name;
    int result = form->line(corpus, line, example, fate, err);
    if (result < 0)
        return result;
    corpus->met = form;
    if (*fate == CORPUS_TAKEN)
        *fate = check_bounds(example);
    return 0;
}

static int read_example(struct reading *reading, const char *path, size_t number, const char *text,
                        size_t count)
{
    struct example example;
    struct err err = {0};
    json_t *line = NULL;
    enum corpus_fate fate = CORPUS_TAKEN;
    int result = json_parse_line(path, number, text, count, &line, &err);
    if (result == 0) {
        result = corpus_read_line(reading->corpus, line, &example, &fate, &err);
        if (result < 0)
            err_prefix(&err, "%s:%zu", path, number);
    }
    if (result < 0)
        reading_complain(reading, &err);
    else
        reading->counts->fates[fate]++;
    bool taken = result == 0 && fate == CORPUS_TAKEN;
    result = taken ? reading->visit(reading->context, &example) : 0;
    json_decref(line);
    return result;
}

static int read_file(struct reading *reading, const char *path, struct err *err)
{
    const struct lines_options options = {.max_bytes = LIMIT_JSONL_LINE_BYTES,
                                          .cancelled = reading->corpus->options->cancelled};
    const char *text;
    size_t count;
    int fd = open(path, O_RDONLY | O_CLOEXEC), result;
    if (fd < 0)
        return err_sys(err, errno, "cannot open %s", path);
    struct lines *lines = lines_open_with(fd, path, &options);
    reading->corpus->met = NULL;
    while ((result = lines_next(lines, &text, &count, err)) > 0 || result == ERR_LIMIT) {
        if (result == ERR_LIMIT)
            reading_complain(reading, err);
        else if ((result = read_example(reading, path, lines_number(lines), text, count)) != 0)
            break;
    }
    lines_close(lines);
    return result;
}

static int is_jsonl(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return entry->d_name[0] != '.' && length > 6 &&
           strcmp(entry->d_name + length - 6, ".jsonl") == 0;
}

/* A pipe or a device would block for ever. */
static bool is_file(const char *path)
{
    struct stat stat_buffer;
    return stat(path, &stat_buffer) == 0 && S_ISREG(stat_buffer.st_mode);
}

static int read_files(struct reading *reading, const char *directory, struct err *err)
{
    struct dirent **names = NULL;
    int result = 0;
    int count = scandir(directory, &names, is_jsonl, alphasort);
    if (count < 0)
        return err_sys(err, errno, "cannot list %s", directory);
    for (int i = 0; i < count; i++) {
        char *path = mem_printf("%s/%s", directory, names[i]->d_name);
        if (result == 0 && is_file(path))
            result = read_file(reading, path, err);
        mem_free(path);
        free(names[i]);
    }
    free(names);
    if (count == 0)
        return err_set(err, ERR_INPUT,
                       "%s: holds no examples: expected *.jsonl, problems, or NAME/reference.* "
                       "with solutions beside it",
                       directory);
    return result;
}

static int read_directory(struct reading *reading, const char *path, struct err *err)
{
    const struct corpus_form *form = reading->corpus->form;
    for (size_t i = 0; !form && i < FORM_COUNT; i++)
        if (corpus_forms[i].recognises && corpus_forms[i].recognises(path))
            form = &corpus_forms[i];
    return form && form->directory ? form->directory(reading, path, err)
                                   : read_files(reading, path, err);
}

int corpus_read(struct corpus *corpus, const char *path,
                int (*visit)(void *context, const struct example *example), void *context,
                struct corpus_counts *counts, struct err *err)
{
    struct reading reading = {corpus, visit, context, counts};
    memset(counts, 0, sizeof *counts);
    if (!file_exists(path))
        return err_set(err, ERR_MISSING, "%s: no such file or directory", path);
    if (file_is_directory(path))
        return read_directory(&reading, path, err);
    if (corpus->form && !corpus->form->line)
        return err_set(err, ERR_INPUT, "%s is a file; --format %s needs a directory", path,
                       corpus->form->name);
    return read_file(&reading, path, err);
}

int corpus_open(struct corpus **out, const struct corpus_options *options, struct err *err)
{
    const char *names[FORM_COUNT + 1] = {"auto"};
    const struct corpus_form *form = NULL;
    *out = NULL;
    bool any = !options->format || strcmp(options->format, "auto") == 0;
    for (size_t i = 0; i < FORM_COUNT; i++) {
        names[i + 1] = corpus_forms[i].name;
        if (!any && strcmp(options->format, corpus_forms[i].name) == 0)
            form = &corpus_forms[i];
    }
    if (!any && !form)
        return err_unknown(err, "format", options->format, names, FORM_COUNT + 1);
    *out = mem_alloc(sizeof **out);
    (*out)->options = options;
    (*out)->form = form;
    return 0;
}

void corpus_close(struct corpus *corpus)
{
    if (!corpus)
        return;
    for (size_t i = 0; i < corpus->problem_count; i++)
        problem_deinit(&corpus->problems[i]);
    mem_free(corpus->problems);
    mem_free(corpus);
}
