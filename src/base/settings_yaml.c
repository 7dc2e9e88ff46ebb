#include "base/settings_row.h"

#include "base/array.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/nearest.h"
#include "base/paths.h"
#include "base/yaml_check.h"

#include <libfyaml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_BYTES 64

/* A settings file is two levels of mappings: section, then key and value. */
struct reader {
    struct settings *settings;
    const char *name;
    struct err *err;
    struct fy_parser *parser;
    struct fy_diag *diag;
    int depth; /* open mappings */
    int documents;
    char section[NAME_BYTES]; /* "" when the next scalar is one */
    char key[NAME_BYTES];     /* the same within a section */
    bool given[SETTINGS_COUNT];
};

static int fail_at(const struct reader *reader, struct fy_event *event, const char *text)
{
    const struct fy_mark *mark = fy_event_start_mark(event);
    return err_set(reader->err, ERR_INPUT, "%s:%d:%d: %s", reader->name, mark ? mark->line + 1 : 1,
                   mark ? mark->column + 1 : 1, text);
}

static int prefix_at(const struct reader *reader, struct fy_event *event)
{
    const struct fy_mark *mark = fy_event_start_mark(event);
    return err_prefix(reader->err, "%s:%d:%d", reader->name, mark ? mark->line + 1 : 1,
                      mark ? mark->column + 1 : 1);
}

static int fail_syntax(const struct reader *reader)
{
    void *at = NULL;
    const struct fy_diag_error *first = fy_diag_errors_iterate(reader->diag, &at);
    if (!first || !first->msg)
        return err_set(reader->err, ERR_INPUT, "%s:1:1: is not YAML", reader->name);
    return err_set(reader->err, ERR_INPUT, "%s:%d:%d: %s", reader->name, first->line, first->column,
                   first->msg);
}

/* A section that no path has; the hint is among the sections. */
static int check_section(const struct reader *reader, struct fy_event *event, const char *section)
{
    char names[SETTINGS_COUNT][NAME_BYTES];
    const char *list[SETTINGS_COUNT];
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        snprintf(names[i], sizeof names[i], "%.*s", (int)strcspn(settings_rows[i].path, "."),
                 settings_rows[i].path);
        list[i] = names[i];
        if (strcmp(names[i], section) == 0)
            return 0;
    }
    err_unknown(reader->err, "section", section, list, SETTINGS_COUNT);
    return prefix_at(reader, event);
}

static int set_value(struct reader *reader, struct fy_event *event, const char *value)
{
    char path[2 * NAME_BYTES];
    snprintf(path, sizeof path, "%s.%s", reader->section, reader->key);
    reader->key[0] = '\0';
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        if (strcmp(settings_rows[i].path, path) != 0)
            continue;
        if (reader->given[i])
            return fail_at(reader, event, "this setting is given twice");
        reader->given[i] = true;
    }
    const struct fy_mark *mark = fy_event_start_mark(event);
    char *source = mem_printf("%s:%d", reader->name, mark ? mark->line + 1 : 1);
    int result = settings_set_from(reader->settings, path, value, ORIGIN_FILE, source, reader->err);
    mem_free(source);
    return result < 0 ? prefix_at(reader, event) : 0;
}

static int read_scalar(struct reader *reader, struct fy_event *event)
{
    struct fy_token *token = fy_event_get_token(event);
    size_t length = 0;
    const char *text = token ? fy_token_get_text(token, &length) : "";
    if (!text)
        return fail_syntax(reader);
    if (memchr(text, '\0', length))
        return fail_at(reader, event, "holds a NUL character");
    char *name = reader->depth == 2 ? reader->key : reader->section;
    bool value = reader->depth == 2 ? reader->key[0] != '\0' : reader->section[0] != '\0';
    if (reader->depth == 0 || (reader->depth == 1 && value)) {
        /* A section whose lines are all comments, or a file without any. */
        reader->section[0] = '\0';
        return length == 0 ? 0 : fail_at(reader, event, "expected a mapping here: 'key: value'");
    }
    if (!value) {
        if (length == 0 || length >= NAME_BYTES)
            return fail_at(reader, event, "is no name of a setting");
        memcpy(name, text, length);
        name[length] = '\0';
        return reader->depth == 1 ? check_section(reader, event, name) : 0;
    }
    char *copy = arena_strndup(&reader->settings->arena, text, length);
    return set_value(reader, event, copy);
}

static int read_event(struct reader *reader, struct fy_event *event)
{
    switch (event->type) {
    case FYET_DOCUMENT_START:
        return reader->documents++ ? fail_at(reader, event, "a settings file is one document") : 0;
    case FYET_SCALAR:
        if (fy_event_get_anchor_token(event) || fy_event_get_tag_token(event))
            return fail_at(reader, event, "anchors and tags have no place in settings");
        return read_scalar(reader, event);
    case FYET_MAPPING_START:
        if (reader->depth == 2 || (reader->depth == 1 && !reader->section[0]))
            return fail_at(reader, event, "expected a single value here");
        reader->depth++;
        return 0;
    case FYET_MAPPING_END:
        reader->depth--;
        reader->section[0] = '\0';
        return 0;
    case FYET_SEQUENCE_START:
    case FYET_ALIAS:
        return fail_at(reader, event, "lists and aliases have no place in settings");
    default:
        return 0;
    }
}

static int read_stream(struct reader *reader)
{
    struct fy_event *event;
    int result = 0;
    while (result == 0 && (event = fy_parser_parse(reader->parser))) {
        result = read_event(reader, event);
        fy_parser_event_free(reader->parser, event);
    }
    if (result == 0 && fy_parser_get_stream_error(reader->parser))
        result = fail_syntax(reader);
    return result;
}

static bool is_blank(const char *text, size_t count)
{
    while (count > 0 && strchr(" \t\r\n", text[count - 1]) && text[count - 1] != '\0')
        count--;
    return count == 0;
}

int settings_read_yaml(struct settings *settings, const char *name, const char *text, size_t count,
                       struct err *err)
{
    if (is_blank(text, count))
        return 0;
    /* libfyaml would take UTF-16 and UTF-32 as well. */
    int result = file_check_text(name, text, count, err);
    if (result == 0)
        result = yaml_check(name, text, count, err);
    if (result < 0)
        return result;
    struct reader reader = {.settings = settings, .name = name, .err = err};
    struct fy_diag_cfg diag_config;
    fy_diag_cfg_default(&diag_config);
    diag_config.fp = NULL;
    result = err_set(err, ERR_INTERNAL, "%s: cannot start the YAML parser", name);
    reader.diag = fy_diag_create(&diag_config);
    if (!reader.diag)
        return result;
    fy_diag_set_collect_errors(reader.diag, true);
    struct fy_parse_cfg config = {.flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG, .diag = reader.diag};
    reader.parser = fy_parser_create(&config);
    if (reader.parser && fy_parser_set_string(reader.parser, text, count) == 0)
        result = read_stream(&reader);
    if (reader.parser)
        fy_parser_destroy(reader.parser);
    fy_diag_destroy(reader.diag);
    return result;
}

int settings_read_file(struct settings *settings, const char *path, struct err *err)
{
    char *text = NULL;
    size_t count = 0;
    int result = file_read(path, LIMIT_YAML_BYTES, &text, &count, err);
    if (result == 0)
        result = settings_read_yaml(settings, path, text, count, err);
    mem_free(text);
    settings->file = arena_strdup(&settings->arena, path);
    return result;
}

static int read_first(struct settings *settings, struct err *err)
{
    char *paths[] = {paths_config_file(), mem_strdup("/etc/warpgym/config.yaml")};
    int result = 0;
    for (size_t i = 0; i < COUNT(paths); i++) {
        if (paths[i] && !settings->file && file_exists(paths[i]))
            result = settings_read_file(settings, paths[i], err);
        mem_free(paths[i]);
    }
    return result;
}

int settings_load(struct settings *settings, const char *file, struct err *err)
{
    const char *named = getenv("WARPGYM_CONFIG");
    int result = 0;
    if (file) {
        result = settings_read_file(settings, file, err);
    } else if (named && *named) {
        result = settings_read_file(settings, named, err);
        if (result < 0)
            err_prefix(err, "WARPGYM_CONFIG");
    } else {
        result = read_first(settings, err);
    }
    return result < 0 ? result : settings_read_environment(settings, environ, err);
}
