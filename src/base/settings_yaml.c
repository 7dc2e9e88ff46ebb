#include "base/settings_internal.h"

#include "base/array.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/paths.h"
#include "base/suggest.h"
#include "base/yaml.h"

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
    bool *given; /* [settings_count()] */
    int result;  /* of the first error */
};

/* Adds the error at a place of the file. */
static void add_error(struct reader *reader, const struct yaml_node *at, struct err *err)
{
    err_prefix(err, "%s:%u:%u", reader->name, at->line, at->column);
    setting_errors_add(&reader->settings->errors, err);
    reader->result = reader->result ? reader->result : err->code;
}

static void refuse_at(struct reader *reader, const struct yaml_node *at, const char *text)
{
    struct err err;
    err_set(&err, ERR_INPUT, "%s", text);
    add_error(reader, at, &err);
}

/* False: it is of another kind. `expected`: what to say of a scalar or a mapping. */
static bool expect_kind(struct reader *reader, const struct yaml_node *node, enum yaml_kind kind,
                        const char *expected)
{
    bool list = node->kind == YAML_SEQUENCE || node->kind == YAML_ALIAS;
    bool has_nul = node->kind == YAML_SCALAR && strlen(node->text) < node->bytes;
    if (has_nul)
        refuse_at(reader, node, "holds a NUL character");
    else if (node->kind != kind)
        refuse_at(reader, node, list ? "lists and aliases have no place in settings" : expected);
    else if (kind == YAML_SCALAR && (node->anchored || node->tagged))
        refuse_at(reader, node, "anchors and tags have no place in settings");
    return node->kind == kind && !has_nul;
}

/* The name of a section or a setting; NULL: it is none. */
static const char *name_of(struct reader *reader, const struct yaml_node *key)
{
    if (key->kind == YAML_SCALAR && key->bytes > 0 && key->bytes < NAME_BYTES &&
        strlen(key->text) == key->bytes)
        return key->text;
    refuse_at(reader, key, "is no name of a setting");
    return NULL;
}

static void read_setting(struct reader *reader, const char *section, const struct yaml_node *node)
{
    struct settings *settings = reader->settings;
    const char *name = name_of(reader, node->key);
    char path[2 * NAME_BYTES];
    struct err err;
    if (!name)
        return;
    snprintf(path, sizeof path, "%s.%s", section, name);
    struct setting_place setting = setting_named(path);
    if (!setting.row) {
        setting_unknown(path, &err);
        add_error(reader, node->key, &err);
        return;
    }
    if (!expect_kind(reader, node, YAML_SCALAR, "expected a single value here"))
        return;
    if (reader->given[setting.index]) {
        refuse_at(reader, node, "this setting is given twice");
        return;
    }
    reader->given[setting.index] = true;
    if (setting_assign(settings, &setting, arena_strdup(&settings->arena, node->text), &err) < 0)
        add_error(reader, node, &err);
    else
        settings->states[setting.index] = (struct setting_state){
            .origin = ORIGIN_FILE,
            .source = arena_strdup(&settings->arena, reader->name),
            .line = (int)node->line,
            .column = (int)node->column,
        };
}

static bool is_section(struct reader *reader, const struct yaml_node *key, const char *name)
{
    const struct setting_section *const *at = setting_registry.sections;
    const char *names[SECTIONS_MOST];
    size_t count = 0;
    struct err err;
    for (; *at && count < SECTIONS_MOST; at++) {
        if (strcmp((*at)->name, name) == 0)
            return true;
        names[count++] = (*at)->name;
    }
    err_unknown(&err, "section", name, names, count);
    add_error(reader, key, &err);
    return false;
}

static void read_section(struct reader *reader, const struct yaml_node *node)
{
    const char *name = name_of(reader, node->key);
    bool is_empty = node->kind == YAML_SCALAR && node->bytes == 0; /* its lines are all comments */
    if (!name || !is_section(reader, node->key, name) || is_empty ||
        !expect_kind(reader, node, YAML_MAPPING, "expected a mapping here: 'key: value'"))
        return;
    for (const struct yaml_node *entry = node->first; entry; entry = entry->next)
        read_setting(reader, name, entry);
}

/* The first document; of more it says only that they are there. */
static void read_document(struct reader *reader, const struct yaml *yaml)
{
    const struct yaml_node *root = yaml->root;
    bool is_empty = !root || (root->kind == YAML_SCALAR && root->bytes == 0);
    if (!is_empty &&
        expect_kind(reader, root, YAML_MAPPING, "expected a mapping here: 'key: value'"))
        for (const struct yaml_node *entry = root->first; entry; entry = entry->next)
            read_section(reader, entry);
    if (yaml->second)
        refuse_at(reader, yaml->second, "a settings file is one document");
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
    const struct setting_error *before = settings->errors.last;
    struct reader reader = {.settings = settings, .name = name};
    struct yaml yaml = {0};
    struct arena arena = {0};
    struct err own;
    /* libfyaml would take UTF-16 and UTF-32 as well. */
    int result = file_check_text(name, text, count, &own);
    if (result == 0)
        result = yaml_read(&yaml, &arena, name, text, count, &own);
    reader.given = mem_alloc(settings_count() * sizeof *reader.given);
    read_document(&reader, &yaml);
    if (result < 0)
        setting_errors_add(&settings->errors, &own);
    mem_free(reader.given);
    arena_deinit(&arena);
    const struct setting_error *first = before ? before->next : settings->errors.first;
    int code = reader.result < 0 ? reader.result : result;
    return code < 0 ? err_set(err, code, "%s", first->text) : 0;
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
