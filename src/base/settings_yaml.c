#include "base/settings_internal.h"

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
#define SECTIONS_MOST 64

/* A settings file is two levels of mappings: section, then key and value. Behind an error the
 * reader goes on, without what the error was in. */
struct reader {
    struct settings *settings;
    const char *name;
    struct fy_parser *parser;
    struct fy_diag *diag;
    int depth;   /* open mappings */
    int skipped; /* open collections, the first of which has no place here */
    int documents;
    char section[NAME_BYTES];     /* "" when the next scalar is one */
    char key[NAME_BYTES];         /* the same within a section */
    bool ignored;                 /* the section: it is unknown */
    struct setting_place setting; /* of the key; row NULL: it is unknown */
    bool *given;                  /* [settings_count()] */
    int result;                   /* of the first error */
    struct err err;               /* the last one */
};

/* The error in `err`, at a place of the file. */
static void add_error(struct reader *reader, int line, int column)
{
    err_prefix(&reader->err, "%s:%d:%d", reader->name, line, column);
    setting_errors_add(&reader->settings->errors, &reader->err);
    reader->result = reader->result ? reader->result : reader->err.code;
}

static void add_error_at(struct reader *reader, struct fy_event *event)
{
    const struct fy_mark *mark = fy_event_start_mark(event);
    add_error(reader, mark ? mark->line + 1 : 1, mark ? mark->column + 1 : 1);
}

static void refuse_at(struct reader *reader, struct fy_event *event, const char *text)
{
    err_set(&reader->err, ERR_INPUT, "%s", text);
    add_error_at(reader, event);
}

static void refuse_syntax(struct reader *reader)
{
    void *at = NULL;
    const struct fy_diag_error *first = fy_diag_errors_iterate(reader->diag, &at);
    bool known = first && first->msg;
    err_set(&reader->err, ERR_INPUT, "%s", known ? first->msg : "is not YAML");
    add_error(reader, known ? first->line : 1, known ? first->column : 1);
}

static bool is_section(const char *name)
{
    const struct setting_section *const *at = setting_registry.sections;
    while (*at && strcmp((*at)->name, name) != 0)
        at++;
    return *at;
}

static void begin_section(struct reader *reader, struct fy_event *event)
{
    const struct setting_section *const *at = setting_registry.sections;
    const char *names[SECTIONS_MOST];
    size_t count = 0;
    reader->ignored = !is_section(reader->section);
    if (!reader->ignored)
        return;
    for (; *at && count < SECTIONS_MOST; at++)
        names[count++] = (*at)->name;
    err_unknown(&reader->err, "section", reader->section, names, count);
    add_error_at(reader, event);
}

static void begin_setting(struct reader *reader, struct fy_event *event)
{
    char path[2 * NAME_BYTES];
    snprintf(path, sizeof path, "%s.%s", reader->section, reader->key);
    reader->setting = reader->ignored ? (struct setting_place){0} : setting_named(path);
    if (reader->setting.row || reader->ignored)
        return;
    setting_unknown(path, &reader->err);
    add_error_at(reader, event);
}

static void set_value(struct reader *reader, struct fy_event *event, const char *value)
{
    const struct setting_place *setting = &reader->setting;
    struct settings *settings = reader->settings;
    const struct fy_mark *mark = fy_event_start_mark(event);
    reader->key[0] = '\0';
    if (!setting->row)
        return;
    if (reader->given[setting->index]) {
        refuse_at(reader, event, "this setting is given twice");
        return;
    }
    reader->given[setting->index] = true;
    if (setting_assign(settings, setting, value, &reader->err) < 0) {
        add_error_at(reader, event);
        return;
    }
    settings->states[setting->index] = (struct setting_state){
        .origin = ORIGIN_FILE,
        .source = arena_strdup(&settings->arena, reader->name),
        .line = mark ? mark->line + 1 : 1,
        .column = mark ? mark->column + 1 : 1,
    };
}

static void read_name(struct reader *reader, struct fy_event *event, const char *text,
                      size_t length)
{
    char *name = reader->depth == 2 ? reader->key : reader->section;
    if (length == 0 || length >= NAME_BYTES) {
        refuse_at(reader, event, "is no name of a setting");
        reader->ignored = reader->ignored || reader->depth == 1;
        reader->setting = (struct setting_place){0};
        snprintf(name, NAME_BYTES, "?");
        return;
    }
    memcpy(name, text, length);
    name[length] = '\0';
    if (reader->depth == 1)
        begin_section(reader, event);
    else
        begin_setting(reader, event);
}

static void read_scalar(struct reader *reader, struct fy_event *event)
{
    struct fy_token *token = fy_event_get_token(event);
    size_t length = 0;
    const char *text = token ? fy_token_get_text(token, &length) : "";
    bool value = reader->depth == 2 ? reader->key[0] != '\0' : reader->section[0] != '\0';
    if (!text) {
        refuse_syntax(reader);
    } else if (memchr(text, '\0', length)) {
        refuse_at(reader, event, "holds a NUL character");
        if (value && reader->depth == 2)
            reader->key[0] = '\0';
    } else if (reader->depth == 0 || (reader->depth == 1 && value)) {
        /* A section whose lines are all comments, or a file without any. */
        reader->section[0] = '\0';
        if (length > 0 && !reader->ignored)
            refuse_at(reader, event, "expected a mapping here: 'key: value'");
    } else if (!value) {
        read_name(reader, event, text, length);
    } else {
        set_value(reader, event, arena_strndup(&reader->settings->arena, text, length));
    }
}

/* A collection or an alias that has no place here, and what is in it. */
static void skip(struct reader *reader, struct fy_event *event, const char *text)
{
    bool known = !reader->ignored && (reader->depth < 2 || !reader->key[0] || reader->setting.row);
    if (known)
        refuse_at(reader, event, text);
    reader->skipped = event->type != FYET_ALIAS;
    (reader->depth == 2 ? reader->key : reader->section)[0] = '\0';
}

static void read_skipped(struct reader *reader, struct fy_event *event)
{
    if (event->type == FYET_MAPPING_START || event->type == FYET_SEQUENCE_START)
        reader->skipped++;
    else if (event->type == FYET_MAPPING_END || event->type == FYET_SEQUENCE_END)
        reader->skipped--;
}

static void read_event(struct reader *reader, struct fy_event *event)
{
    if (reader->skipped > 0) {
        read_skipped(reader, event);
        return;
    }
    switch (event->type) {
    case FYET_DOCUMENT_START:
        if (reader->documents++ > 0)
            refuse_at(reader, event, "a settings file is one document");
        break;
    case FYET_SCALAR:
        if (fy_event_get_anchor_token(event) || fy_event_get_tag_token(event))
            refuse_at(reader, event, "anchors and tags have no place in settings");
        read_scalar(reader, event);
        break;
    case FYET_MAPPING_START:
        if (reader->depth == 2 || (reader->depth == 1 && !reader->section[0]))
            skip(reader, event, "expected a single value here");
        else
            reader->depth++;
        break;
    case FYET_MAPPING_END:
        reader->depth--;
        reader->section[0] = '\0';
        reader->ignored = false;
        break;
    case FYET_SEQUENCE_START:
    case FYET_ALIAS:
        skip(reader, event, "lists and aliases have no place in settings");
        break;
    default:
        break;
    }
}

/* The first document; of more it says only that they are there. */
static void read_stream(struct reader *reader)
{
    struct fy_event *event;
    while (reader->documents <= 1 && (event = fy_parser_parse(reader->parser))) {
        read_event(reader, event);
        fy_parser_event_free(reader->parser, event);
    }
    if (fy_parser_get_stream_error(reader->parser))
        refuse_syntax(reader);
}

static bool is_blank(const char *text, size_t count)
{
    while (count > 0 && strchr(" \t\r\n", text[count - 1]) && text[count - 1] != '\0')
        count--;
    return count == 0;
}

/* Before the library sees it; libfyaml would take UTF-16 and UTF-32 as well. */
static int check_text(struct settings *settings, const char *name, const char *text, size_t count,
                      struct err *err)
{
    int result = file_check_text(name, text, count, err);
    if (result == 0)
        result = yaml_check(name, text, count, err);
    if (result < 0)
        setting_errors_add(&settings->errors, err);
    return result;
}

static int read_all(struct reader *reader, const char *text, size_t count)
{
    struct fy_diag_cfg diag_config;
    fy_diag_cfg_default(&diag_config);
    diag_config.fp = NULL;
    reader->diag = fy_diag_create(&diag_config);
    if (!reader->diag)
        return err_set(&reader->err, ERR_INTERNAL, "%s: cannot start the YAML parser",
                       reader->name);
    fy_diag_set_collect_errors(reader->diag, true);
    struct fy_parse_cfg config = {.flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG, .diag = reader->diag};
    reader->parser = fy_parser_create(&config);
    if (reader->parser && fy_parser_set_string(reader->parser, text, count) == 0)
        read_stream(reader);
    if (reader->parser)
        fy_parser_destroy(reader->parser);
    fy_diag_destroy(reader->diag);
    return reader->result;
}

int settings_read_yaml(struct settings *settings, const char *name, const char *text, size_t count,
                       struct err *err)
{
    struct err own;
    err = err ? err : &own;
    if (is_blank(text, count))
        return 0;
    int result = check_text(settings, name, text, count, err);
    if (result < 0)
        return result;
    const struct setting_error *before = settings->errors.last;
    struct reader reader = {.settings = settings, .name = name};
    reader.given = mem_alloc(settings_count() * sizeof *reader.given);
    result = read_all(&reader, text, count);
    mem_free(reader.given);
    const struct setting_error *first = before ? before->next : settings->errors.first;
    return result < 0 ? err_set(err, result, "%s", first ? first->text : reader.err.text) : 0;
}

/* `from`: what has named the file; NULL: it needs no mention. */
static int read_file(struct settings *settings, const char *path, const char *from, struct err *err)
{
    char *text = NULL;
    size_t count = 0;
    struct err own;
    err = err ? err : &own;
    settings->file = arena_strdup(&settings->arena, path);
    int result = file_read(path, LIMIT_YAML_BYTES, &text, &count, err);
    if (result < 0) {
        if (from)
            err_prefix(err, "%s", from);
        setting_errors_add(&settings->errors, err);
    } else {
        result = settings_read_yaml(settings, path, text, count, err);
    }
    mem_free(text);
    return result;
}

int settings_read_file(struct settings *settings, const char *path, struct err *err)
{
    return read_file(settings, path, NULL, err);
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
    struct err later;
    int result;
    if (file)
        result = settings_read_file(settings, file, err);
    else if (named && *named)
        result = read_file(settings, named, "WARPGYM_CONFIG", err);
    else
        result = read_first(settings, err);
    int second = settings_read_environment(settings, environ, &later);
    return result < 0 ? result : second < 0 ? err_set(err, second, "%s", later.text) : 0;
}
