/* settings_show: the table and its values, for people. */
#include "base/settings_row.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMENT_COLUMNS 100
#define COMMENT_BYTES 4096
#define VALUE_BYTES 16384 /* of a text, quoted */

static const char *const kind_names[] = {"text",   "secret",  "URL",      "integer",
                                         "number", "boolean", "duration", "size"};

const struct settings_unit settings_durations[] = {
    {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}, {"", 1}, {NULL, 0},
};
const struct settings_unit settings_sizes[] = {
    {"TiB", 0x1p40}, {"GiB", 0x1p30}, {"MiB", 0x1p20}, {"KiB", 0x1p10}, {"TB", 1e12}, {"GB", 1e9},
    {"MB", 1e6},     {"kB", 1e3},     {"KB", 1e3},     {"B", 1},        {"", 1},      {NULL, 0},
};

bool settings_is_text(const struct settings_row *row)
{
    return row->kind == SETTINGS_KIND_STRING || row->kind == SETTINGS_KIND_SECRET ||
           row->kind == SETTINGS_KIND_URL;
}

bool settings_is_bounded(const struct settings_row *row)
{
    return !settings_is_text(row) && row->kind != SETTINGS_KIND_BOOL;
}

/* With the largest unit that divides it. */
static void print_units(struct buf *out, const struct settings_unit *units, double value)
{
    while (units->factor > 1 && (value == 0 || fmod(value, units->factor) != 0))
        units++;
    buf_printf(out, "%.0f%s", value / units->factor, units->factor > 1 ? units->name : "");
}

static void print_float(struct buf *out, double value)
{
    char text[32];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    buf_puts(out, text);
}

void settings_print_value(struct buf *out, enum settings_kind kind, double value)
{
    if (kind == SETTINGS_KIND_BOOL)
        buf_puts(out, value != 0 ? "true" : "false");
    else if (kind == SETTINGS_KIND_FLOAT)
        print_float(out, value);
    else if (kind == SETTINGS_KIND_DURATION && value != 0 && fmod(value, 1000) != 0)
        buf_printf(out, "%.0fms", value);
    else if (kind == SETTINGS_KIND_INT)
        buf_printf(out, "%.0f", value);
    else
        print_units(out, kind == SETTINGS_KIND_DURATION ? settings_durations : settings_sizes,
                    value);
}

static void print_bounds(struct buf *out, const struct settings_row *row)
{
    if (!settings_is_bounded(row))
        return;
    settings_print_value(out, row->kind, row->low);
    buf_puts(out, " to ");
    settings_print_value(out, row->kind, row->high);
}

void settings_describe(struct buf *out)
{
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        const struct settings_row *row = &settings_rows[i];
        bool empty = row->standard[0] == '\0';
        buf_printf(out, "  %-22s %s%s%s", row->path, kind_names[row->kind],
                   empty ? "" : ", default ", row->standard);
        buf_puts(out, settings_is_bounded(row) ? ", " : "");
        print_bounds(out, row);
        buf_printf(out, "\n      %s\n", row->help);
    }
}

void settings_describe_markdown(struct buf *out)
{
    buf_puts(out, "| Setting | Environment | Type | Default | Bounds | Meaning |\n"
                  "|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        const struct settings_row *row = &settings_rows[i];
        char variable[SETTINGS_VARIABLE_BYTES];
        settings_variable_of(row->path, variable, sizeof variable);
        buf_printf(out, "| `%s` | `WARPGYM_%s`", row->path, variable);
        const char *theirs;
        for (size_t n = 0; (theirs = settings_kernelgym_name(row->path, n)); n++)
            buf_printf(out, ", `%s`", theirs);
        buf_printf(out, " | %s | %s%s%s | ", kind_names[row->kind], row->standard[0] ? "`" : "",
                   row->standard, row->standard[0] ? "`" : "empty");
        print_bounds(out, row);
        buf_printf(out, " | %s |\n", row->help);
    }
}

static void print_quoted(struct buf *out, const char *text)
{
    buf_puts(out, "\"");
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            buf_puts(out, "\\");
        buf_append(out, text, 1);
    }
    buf_puts(out, "\"");
}

static void show_row(const struct settings *settings, const struct settings_row *row,
                     struct buf *out)
{
    const char *field = (const char *)settings + row->offset;
    if (settings_is_text(row))
        print_quoted(out, *(const char *const *)field);
    else if (row->kind == SETTINGS_KIND_FLOAT)
        settings_print_value(out, row->kind, *(const double *)field);
    else if (row->kind == SETTINGS_KIND_BOOL)
        settings_print_value(out, row->kind, *(const bool *)field);
    else if (row->kind == SETTINGS_KIND_BYTES)
        settings_print_value(out, row->kind, (double)*(const uint64_t *)field);
    else
        settings_print_value(out, row->kind, (double)*(const int64_t *)field);
}

const char *settings_path(size_t index)
{
    return settings_rows[index].path;
}

void settings_show_value(const struct settings *settings, size_t index, struct buf *out)
{
    show_row(settings, &settings_rows[index], out);
}

/* A secret must not end in a terminal's history or a bug report. */
static bool is_hidden(const struct settings *settings, const struct settings_row *row)
{
    const char *text = settings_is_text(row)
                           ? *(const char *const *)((const char *)settings + row->offset)
                           : "";
    return row->kind == SETTINGS_KIND_SECRET ? *text != '\0'
                                             : row->kind == SETTINGS_KIND_URL && strchr(text, '@');
}

/* In a comment, so on one line. */
static void show_source(const struct settings *settings, size_t index, struct buf *out)
{
    static const char *const origins[] = {"default", "file", "environment", "command line"};
    const char *source = settings->source[index];
    buf_puts(out, origins[settings->origin[index]]);
    buf_puts(out, source ? " " : "");
    for (; source && *source; source++)
        buf_append(out, iscntrl((unsigned char)*source) ? "?" : source, 1);
}

/* The heading of a section before its first setting. Returns what stands behind "section.". */
static const char *begin_row(size_t index, const char *between, struct buf *out)
{
    buf_puts(out, index ? between : "");
    const char *path = settings_rows[index].path;
    size_t length = strcspn(path, ".") + 1;
    if (index == 0 || strncmp(path, settings_rows[index - 1].path, length) != 0)
        buf_printf(out, "%.*s:\n", (int)length - 1, path);
    return path + length;
}

static bool is_alike(const struct settings *a, const struct settings *b, size_t index)
{
    const struct settings_row *row = &settings_rows[index];
    struct buf one, other;
    if (is_hidden(a, row) || is_hidden(b, row))
        return true;
    buf_init(&one, VALUE_BYTES);
    buf_init(&other, VALUE_BYTES);
    show_row(a, row, &one);
    show_row(b, row, &other);
    bool alike = strcmp(one.data, other.data) == 0;
    buf_deinit(&one);
    buf_deinit(&other);
    return alike;
}

size_t settings_difference(const struct settings *a, const struct settings *b, size_t index)
{
    while (index < SETTINGS_COUNT && is_alike(a, b, index))
        index++;
    return index;
}

void settings_show(const struct settings *settings, struct buf *out)
{
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        const char *name = begin_row(i, "", out);
        bool hidden = is_hidden(settings, &settings_rows[i]);
        buf_printf(out, "  %s%s: ", hidden ? "# " : "", name);
        if (hidden)
            buf_puts(out, "not shown");
        else
            show_row(settings, &settings_rows[i], out);
        buf_puts(out, " # ");
        show_source(settings, i, out);
        buf_puts(out, "\n");
    }
}

void settings_show_section(const struct settings *settings, const char *section, struct buf *out)
{
    size_t length = strlen(section);
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        const char *path = settings_rows[i].path;
        if (strncmp(path, section, length) != 0 || path[length] != '.')
            continue;
        buf_printf(out, "%s: ", path);
        show_row(settings, &settings_rows[i], out);
        buf_puts(out, "\n");
    }
}

/* Filled to 100 columns; a text's own line breaks stay. */
static void put_comment(struct buf *out, const char *indent, const char *text)
{
    size_t column = 0, width = COMMENT_COLUMNS - strlen(indent) - 2;
    while (*text) {
        size_t length = strcspn(text, " \n");
        if (column > 0 && (column + 1 + length > width)) {
            buf_puts(out, "\n");
            column = 0;
        }
        if (column == 0)
            buf_printf(out, "%s#", indent);
        buf_printf(out, " %.*s", (int)length, text);
        column += 1 + length;
        text += length;
        if (*text == '\n') {
            buf_puts(out, "\n");
            column = 0;
        }
        text += *text != '\0';
    }
    buf_puts(out, column ? "\n" : "");
}

static void put_facts(struct buf *out, const struct settings_row *row)
{
    struct buf text;
    buf_init(&text, COMMENT_BYTES);
    buf_printf(&text, "%s (%s", row->help, kind_names[row->kind]);
    if (settings_is_bounded(row)) {
        buf_puts(&text, ", ");
        print_bounds(&text, row);
    }
    buf_printf(&text, "; default %s%s", row->standard[0] ? row->standard : "empty", ")");
    put_comment(out, "  ", text.data);
    buf_deinit(&text);
}

static void put_line(struct buf *out, const struct settings_row *row, const char *name,
                     const char *value)
{
    buf_printf(out, "  %s%s: ", value ? "" : "# ", name);
    if (settings_is_text(row))
        print_quoted(out, value ? value : row->standard);
    else
        buf_puts(out, value ? value : row->standard);
    buf_puts(out, "\n");
}

void settings_template(const char *header, const struct settings_choice *choices, size_t count,
                       struct buf *out)
{
    put_comment(out, "", header);
    buf_puts(out, "\n");
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        const struct settings_row *row = &settings_rows[i];
        const struct settings_choice *choice = NULL;
        const char *name = begin_row(i, "\n", out);
        for (size_t c = 0; c < count && !choice; c++)
            choice = strcmp(choices[c].path, row->path) == 0 ? &choices[c] : NULL;
        put_facts(out, row);
        if (choice)
            put_comment(out, "  ", choice->reason);
        put_line(out, row, name, choice ? choice->value : NULL);
    }
}
