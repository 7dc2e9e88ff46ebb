#include "base/yaml.h"

#include "base/suggest.h"
#include "base/utf8.h"
#include "base/yaml_check.h"

#include <libfyaml.h>
#include <stdio.h>
#include <string.h>

struct reader {
    struct yaml *yaml;
    struct fy_parser *parser;
    struct fy_diag *diag;
};

/* A bound in a format ("%.60s") may have cut a character of several bytes: no reader of the error,
 * such as a JSON encoder, shall stumble over that. */
static void mend_utf8(char *text)
{
    for (size_t left = strlen(text), length; left > 0; left -= length, text += length) {
        length = utf8_sequence(text, left);
        if (length == 0) {
            *text = '?';
            length = 1;
        }
    }
}

__attribute__((format(printf, 4, 0))) static int
fail_at(const struct yaml *yaml, uint32_t line, uint32_t column, const char *format, va_list args)
{
    char text[ERR_TEXT_MAX];
    vsnprintf(text, sizeof text, format, args);
    mend_utf8(text);
    return err_set(yaml->err, ERR_INPUT, "%s:%u:%u: %s", yaml->name, line, column, text);
}

int yaml_fail(const struct yaml *yaml, const struct yaml_node *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int result = fail_at(yaml, at->line, at->column, format, args);
    va_end(args);
    return result;
}

int yaml_fail_inside(const struct yaml *yaml, const struct yaml_node *at, uint32_t skip,
                     const char *format, ...)
{
    va_list args;
    va_start(args, format);
    uint32_t column = at->column + (at->straight ? skip + (at->plain ? 0 : 1) : 0);
    int result = fail_at(yaml, at->line, column, format, args);
    va_end(args);
    return result;
}

/* What libfyaml found, in its own words; it counts from 1 as we do. */
static int fail_syntax(const struct reader *reader)
{
    void *iterator = NULL;
    const struct fy_diag_error *first = fy_diag_errors_iterate(reader->diag, &iterator);
    if (!first || !first->msg)
        return err_set(reader->yaml->err, ERR_INPUT, "%s:1:1: is not YAML", reader->yaml->name);
    struct yaml_node at = {.line = first->line > 0 ? (uint32_t)first->line : 1,
                           .column = first->column > 0 ? (uint32_t)first->column : 1};
    return yaml_fail(reader->yaml, &at, "%s", first->msg);
}

static struct fy_event *next_event(const struct reader *reader)
{
    return fy_parser_parse(reader->parser);
}

static struct yaml_node *new_node(const struct reader *reader, struct fy_event *event,
                                  const struct yaml_node *key)
{
    struct yaml_node *node = arena_alloc(reader->yaml->arena, sizeof *node);
    const struct fy_mark *mark = fy_event_start_mark(event);
    node->key = key;
    node->line = mark ? (uint32_t)mark->line + 1 : key ? key->line : 1;
    node->column = mark ? (uint32_t)mark->column + 1 : key ? key->column : 1;
    return node;
}

static int read_scalar(const struct reader *reader, struct fy_event *event, struct yaml_node *node)
{
    struct fy_token *token = fy_event_get_token(event);
    size_t length = 0;
    const char *text = token ? fy_token_get_text(token, &length) : "";
    enum fy_scalar_style style = token ? fy_token_scalar_style(token) : FYSS_PLAIN;
    const struct fy_mark *start = fy_event_start_mark(event), *end = fy_event_end_mark(event);
    if (!text)
        return fail_syntax(reader);
    /* libfyaml's mark stands behind the quote. */
    node->column -= style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED;
    while ((style == FYSS_LITERAL || style == FYSS_FOLDED) && length > 0 &&
           text[length - 1] == '\n')
        length--;
    node->kind = YAML_SCALAR;
    node->plain = style == FYSS_PLAIN;
    node->straight = start && end && end->line == start->line &&
                     end->input_pos - start->input_pos == length;
    node->bytes = length;
    node->text = arena_strndup(reader->yaml->arena, text, length);
    return 0;
}

static int read_node(const struct reader *reader, struct fy_event *event, uint32_t depth,
                     const struct yaml_node *key, struct yaml_node **made);

/* Entries up to the event `end`; a mapping's are keys and values in turn. */
static int read_entries(const struct reader *reader, struct yaml_node *node, enum fy_event_type end,
                        uint32_t depth)
{
    const struct yaml_node **link = &node->first;
    struct yaml_node *key = NULL;
    for (;;) {
        struct fy_event *event = next_event(reader);
        if (!event)
            return fail_syntax(reader);
        enum fy_event_type type = event->type;
        struct yaml_node *entry = NULL;
        int result = 0;
        if (type != end)
            result = read_node(reader, event, depth, key, &entry);
        fy_parser_event_free(reader->parser, event);
        bool is_key = node->kind == YAML_MAPPING && !key;
        if (type != end && !is_key) {
            *link = entry;
            link = (const struct yaml_node **)&entry->next;
            if (++node->count > YAML_ENTRIES && result == 0)
                result = yaml_fail(reader->yaml, entry, "more than %d entries", YAML_ENTRIES);
        }
        if (result < 0 || type == end)
            return result;
        key = is_key ? entry : NULL;
    }
}

static int read_node(const struct reader *reader, struct fy_event *event, uint32_t depth,
                     const struct yaml_node *key, struct yaml_node **made)
{
    struct yaml_node *node = new_node(reader, event, key);
    *made = node;
    if (depth == YAML_DEPTH)
        return yaml_fail(reader->yaml, node, "is nested deeper than %d levels", YAML_DEPTH);
    node->anchored = event->type != FYET_ALIAS && fy_event_get_anchor_token(event);
    node->tagged = fy_event_get_tag_token(event);
    switch (event->type) {
    case FYET_ALIAS:
        node->kind = YAML_ALIAS;
        node->column--; /* libfyaml's mark stands behind the asterisk */
        return 0;
    case FYET_SCALAR:
        return read_scalar(reader, event, node);
    case FYET_MAPPING_START:
        node->kind = YAML_MAPPING;
        return read_entries(reader, node, FYET_MAPPING_END, depth + 1);
    case FYET_SEQUENCE_START:
        node->kind = YAML_SEQUENCE;
        return read_entries(reader, node, FYET_SEQUENCE_END, depth + 1);
    default:
        return err_set(reader->yaml->err, ERR_INTERNAL, "%s: unexpected YAML event %d",
                       reader->yaml->name, (int)event->type);
    }
}

/* The events around documents, and the first document. */
static int read_stream(const struct reader *reader)
{
    struct yaml *yaml = reader->yaml;
    struct fy_event *event;
    int result = 0;
    while (result == 0 && !yaml->second && (event = next_event(reader))) {
        struct yaml_node *root = NULL;
        switch (event->type) {
        case FYET_STREAM_START:
        case FYET_STREAM_END:
        case FYET_DOCUMENT_START:
        case FYET_DOCUMENT_END:
        case FYET_NONE:
            break;
        default:
            if (yaml->root) {
                yaml->second = new_node(reader, event, NULL);
                break;
            }
            result = read_node(reader, event, 0, NULL, &root);
            yaml->root = root;
            break;
        }
        fy_parser_event_free(reader->parser, event);
    }
    return result == 0 && fy_parser_get_stream_error(reader->parser) ? fail_syntax(reader) : result;
}

int yaml_read(struct yaml *yaml, struct arena *arena, const char *name, const char *text,
              size_t bytes, struct err *err)
{
    *yaml = (struct yaml){.name = name, .arena = arena, .err = err};
    struct reader reader = {.yaml = yaml};
    struct fy_diag_cfg diag_config;
    fy_diag_cfg_default(&diag_config);
    diag_config.fp = NULL;
    int result = yaml_check(name, text, bytes, err);
    if (result < 0)
        return result;
    result = err_set(err, ERR_INTERNAL, "%s: cannot start the YAML parser", name);
    reader.diag = fy_diag_create(&diag_config);
    if (!reader.diag)
        return result;
    fy_diag_set_collect_errors(reader.diag, true);
    struct fy_parse_cfg config = {.flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG, .diag = reader.diag};
    reader.parser = fy_parser_create(&config);
    if (reader.parser && fy_parser_set_string(reader.parser, text, bytes) == 0)
        result = read_stream(&reader);
    if (reader.parser)
        fy_parser_destroy(reader.parser);
    fy_diag_destroy(reader.diag);
    return result;
}

static int check_key(const struct yaml *yaml, const struct yaml_node *mapping,
                     const struct yaml_node *key)
{
    if (key->kind != YAML_SCALAR || key->text[0] == '\0')
        return yaml_fail(yaml, key, "a key must be a plain name");
    const struct yaml_node *first = yaml_get(mapping, key->text);
    return first->key == key ? 0
                             : yaml_fail(yaml, key, "key '%.60s' is given twice (first on line %u)",
                                         key->text, first->key->line);
}

/* Refuses what only yaml_read takes. */
static int check_node(const struct yaml *yaml, const struct yaml_node *node)
{
    int result = 0;
    if (node->kind == YAML_ALIAS || node->anchored)
        return yaml_fail(yaml, node, "anchors and aliases are not supported: write the value out");
    if (node->tagged)
        return yaml_fail(yaml, node, "tags are not supported");
    for (size_t i = 0; i < node->bytes; i++)
        if ((unsigned char)node->text[i] < ' ' || node->text[i] == 127)
            return yaml_fail(yaml, node, "a text may hold no line break or control character here");
    for (const struct yaml_node *entry = node->first; entry && result == 0; entry = entry->next) {
        if (entry->key)
            result = check_node(yaml, entry->key);
        if (result == 0 && entry->key)
            result = check_key(yaml, node, entry->key);
        if (result == 0)
            result = check_node(yaml, entry);
    }
    return result;
}

int yaml_parse(struct yaml *yaml, struct arena *arena, const char *name, const char *text,
               size_t bytes, struct err *err)
{
    int result = yaml_read(yaml, arena, name, text, bytes, err);
    if (result == 0 && !yaml->root)
        result = err_set(err, ERR_INPUT, "%s:1:1: holds no YAML", name);
    if (result == 0)
        result = check_node(yaml, yaml->root);
    if (result == 0 && yaml->second)
        result = yaml_fail(yaml, yaml->second, "a second document begins here; one file holds one");
    return result;
}

const struct yaml_node *yaml_get(const struct yaml_node *mapping, const char *key)
{
    for (const struct yaml_node *entry = mapping->first; entry; entry = entry->next)
        if (entry->key && entry->key->text && strcmp(entry->key->text, key) == 0)
            return entry;
    return NULL;
}

int yaml_expect(const struct yaml *yaml, const struct yaml_node *node, enum yaml_kind kind,
                const char *what)
{
    static const char *const kinds[] = {
        [YAML_SCALAR] = "a single value",
        [YAML_SEQUENCE] = "a list: [...]",
        [YAML_MAPPING] = "a mapping: {key: value}",
    };
    if (node->kind == YAML_SCALAR && node->text[0] == '\0')
        return yaml_fail(yaml, node, "%s has no value", what);
    if (node->kind != kind)
        return yaml_fail(yaml, node, "%s must be %s", what, kinds[kind]);
    return 0;
}

int yaml_expect_keys(const struct yaml *yaml, const struct yaml_node *node, const char *what,
                     const char *const *keys, size_t count)
{
    int result = yaml_expect(yaml, node, YAML_MAPPING, what);
    if (result < 0)
        return result;
    for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
        const char *key = entry->key->text;
        size_t known = 0;
        while (known < count && strcmp(keys[known], key) != 0)
            known++;
        if (known < count)
            continue;
        struct err unknown;
        err_unknown(&unknown, "key", key, keys, count);
        return yaml_fail(yaml, entry->key, "%s", unknown.text);
    }
    return 0;
}

int yaml_expect_bool(const struct yaml *yaml, const struct yaml_node *node, const char *what,
                     bool *value)
{
    int result = yaml_expect(yaml, node, YAML_SCALAR, what);
    if (result < 0)
        return result;
    *value = strcmp(node->text, "true") == 0;
    if (!*value && strcmp(node->text, "false") != 0)
        return yaml_fail(yaml, node, "%s must be true or false, not '%.60s'", what, node->text);
    return 0;
}

int yaml_expect_choice(const struct yaml *yaml, const struct yaml_node *node, const char *what,
                       const char *const *choices, size_t count, uint32_t *choice)
{
    int result = yaml_expect(yaml, node, YAML_SCALAR, what);
    if (result < 0)
        return result;
    for (size_t i = 0; i < count; i++)
        if (strcmp(node->text, choices[i]) == 0) {
            *choice = (uint32_t)i;
            return 0;
        }
    struct err unknown;
    err_unknown(&unknown, what, node->text, choices, count);
    return yaml_fail(yaml, node, "%s", unknown.text);
}
