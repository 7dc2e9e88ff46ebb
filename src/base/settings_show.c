/* settings_show: the table and its values, for people. */
#include "base/settings_internal.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COMMENT_COLUMNS 100
#define COMMENT_BYTES 4096
#define VALUE_BYTES 16384 /* of a text, quoted */

static const char *const kind_names[] = {"text",   "secret",  "URL",      "word", "integer",
                                         "number", "boolean", "duration", "size"};

const struct setting_unit setting_durations[] = {
    {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}, {"", 1}, {NULL, 0},
};
const struct setting_unit setting_sizes[] = {
    {"TiB", 0x1p40}, {"GiB", 0x1p30}, {"MiB", 0x1p20}, {"KiB", 0x1p10}, {"TB", 1e12}, {"GB", 1e9},
    {"MB", 1e6},     {"kB", 1e3},     {"KB", 1e3},     {"B", 1},        {"", 1},      {NULL, 0},
};

bool setting_is_text(const struct setting_row *row)
{
    return row->kind == KIND_TEXT || row->kind == KIND_SECRET || row->kind == KIND_URL;
}

bool setting_is_bounded(const struct setting_row *row)
{
    return !setting_is_text(row) && row->kind != KIND_BOOL && row->kind != KIND_WORD;
}

/* With the largest unit that divides it. */
static void print_units(struct buf *out, const struct setting_unit *units, double value)
{
    while (units->factor > 1 && (value == 0 || fmod(value, units->factor) != 0))
        units++;
    buf_printf(out, "%.0f%s", value / units->factor, units->factor > 1 ? units->name : "");
}

void setting_print_number(struct buf *out, enum setting_kind kind, double value)
{
    if (kind == KIND_BOOL)
        buf_puts(out, value != 0 ? "true" : "false");
    else if (kind == KIND_FLOAT)
        buf_double(out, value);
    else if (kind == KIND_DURATION && value != 0 && fmod(value, 1000) != 0)
        buf_printf(out, "%.0fms", value);
    else if (kind == KIND_INT)
        buf_printf(out, "%.0f", value);
    else
        print_units(out, kind == KIND_DURATION ? setting_durations : setting_sizes, value);
}

void setting_print_domain(struct buf *out, const struct setting_row *row)
{
    if (setting_is_text(row))
        return;
    if (row->absent)
        buf_printf(out, "%s%s", row->absent, row->words ? ", " : " or ");
    word_list(row->words, out);
    if (!setting_is_bounded(row))
        return;
    setting_print_number(out, row->kind, row->low);
    buf_puts(out, " to ");
    setting_print_number(out, row->kind, row->high);
}

static const char *before_domain(const struct setting_row *row)
{
    return row->words ? ", one of " : setting_is_bounded(row) ? ", " : "";
}

void settings_describe(struct buf *out)
{
    for (struct setting_place place = setting_first(); place.row; setting_next(&place)) {
        const struct setting_row *row = place.row;
        bool empty = row->standard[0] == '\0';
        buf_printf(out, "  %-22s %s%s%s%s", row->path, kind_names[row->kind],
                   empty ? "" : ", default ", row->standard, before_domain(row));
        setting_print_domain(out, row);
        buf_printf(out, "\n      %s\n", row->help);
    }
}

void settings_describe_markdown(struct buf *out)
{
    buf_puts(out, "| Setting | Environment | Type | Default | Bounds, words | Meaning |\n"
                  "|---|---|---|---|---|---|\n");
    for (struct setting_place place = setting_first(); place.row; setting_next(&place)) {
        const struct setting_row *row = place.row;
        char variable[SETTING_VARIABLE_BYTES];
        setting_variable_of(row->path, variable, sizeof variable);
        buf_printf(out, "| `%s` | `WARPGYM_%s`", row->path, variable);
        const char *foreign;
        for (size_t n = 0; (foreign = setting_registry.foreign_variable(row->path, n)); n++)
            buf_printf(out, ", `%s`", foreign);
        buf_printf(out, " | %s | %s%s%s | ", kind_names[row->kind], row->standard[0] ? "`" : "",
                   row->standard, row->standard[0] ? "`" : "empty");
        setting_print_domain(out, row);
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

/* Whether an optional value is given; the others always are. */
static bool is_given(const struct setting_row *row, const void *field)
{
    if (setting_is_text(row))
        return !row->absent || **(const char *const *)field;
    if (!row->optional)
        return true;
    return row->kind == KIND_WORD    ? ((const struct optional_word *)field)->given
           : row->kind == KIND_FLOAT ? ((const struct optional_float *)field)->given
                                     : ((const struct optional_int *)field)->given;
}

static double number_of(const struct setting_row *row, const void *field)
{
    if (row->optional)
        return row->kind == KIND_FLOAT ? ((const struct optional_float *)field)->value
                                       : (double)((const struct optional_int *)field)->value;
    return row->kind == KIND_FLOAT   ? *(const double *)field
           : row->kind == KIND_BOOL  ? *(const bool *)field
           : row->kind == KIND_BYTES ? (double)*(const uint64_t *)field
                                     : (double)*(const int64_t *)field;
}

static void show_row(const struct settings *settings, const struct setting_place *place,
                     struct buf *out)
{
    const struct setting_row *row = place->row;
    const void *field = setting_field(settings, place);
    if (!is_given(row, field))
        print_quoted(out, row->absent);
    else if (setting_is_text(row))
        print_quoted(out, *(const char *const *)field);
    else if (row->kind == KIND_WORD)
        print_quoted(out,
                     word_at(row->words,
                             (size_t)(row->optional ? ((const struct optional_word *)field)->value
                                                    : *(const int *)field)));
    else
        setting_print_number(out, row->kind, number_of(row, field));
}

void settings_show_value(const struct settings *settings, size_t index, struct buf *out)
{
    struct setting_place place = setting_numbered(index);
    show_row(settings, &place, out);
}

/* A secret must not end in a terminal's history or a bug report. */
static bool is_hidden(const struct settings *settings, const struct setting_place *place)
{
    if (place->row->kind != KIND_SECRET && place->row->kind != KIND_URL)
        return false;
    const char *text = *(const char *const *)setting_field(settings, place);
    return place->row->kind == KIND_SECRET ? *text != '\0' : strchr(text, '@') != NULL;
}

/* In a comment, so on one line. */
static void show_source(const struct setting_state *state, struct buf *out)
{
    static const char *const origins[] = {"default", "file", "environment", "command line"};
    const char *source = state->source;
    buf_puts(out, origins[state->origin]);
    buf_puts(out, source ? " " : "");
    for (; source && *source; source++)
        buf_append(out, iscntrl((unsigned char)*source) ? "?" : source, 1);
    if (state->line > 0)
        buf_printf(out, ":%d", state->line);
}

/* The heading of a section before its first setting. Returns what stands behind "section.". */
static const char *begin_row(const struct setting_place *place, const char *between,
                             struct buf *out)
{
    bool first = place->index == 0 || strcmp(setting_numbered(place->index - 1).section->name,
                                             place->section->name) != 0;
    buf_puts(out, place->index ? between : "");
    if (first)
        buf_printf(out, "%s:\n", place->section->name);
    return place->row->path + strlen(place->section->name) + 1;
}

static bool is_alike(const struct settings *a, const struct settings *b,
                     const struct setting_place *place)
{
    struct buf one, other;
    if (is_hidden(a, place) || is_hidden(b, place))
        return true;
    buf_init(&one, VALUE_BYTES);
    buf_init(&other, VALUE_BYTES);
    show_row(a, place, &one);
    show_row(b, place, &other);
    bool alike = strcmp(one.data, other.data) == 0;
    buf_deinit(&one);
    buf_deinit(&other);
    return alike;
}

size_t settings_difference(const struct settings *a, const struct settings *b, size_t index)
{
    struct setting_place place = setting_numbered(index);
    while (place.row && is_alike(a, b, &place))
        setting_next(&place);
    return place.index;
}

void settings_show(const struct settings *settings, struct buf *out)
{
    for (struct setting_place place = setting_first(); place.row; setting_next(&place)) {
        const char *name = begin_row(&place, "", out);
        bool hidden = is_hidden(settings, &place);
        buf_printf(out, "  %s%s: ", hidden ? "# " : "", name);
        if (hidden)
            buf_puts(out, "not shown");
        else
            show_row(settings, &place, out);
        buf_puts(out, " # ");
        show_source(&settings->states[place.index], out);
        buf_puts(out, "\n");
    }
}

void settings_show_section(const struct settings *settings, const char *section, struct buf *out)
{
    for (struct setting_place place = setting_first(); place.row; setting_next(&place)) {
        if (strcmp(place.section->name, section) != 0)
            continue;
        buf_printf(out, "%s: ", place.row->path);
        show_row(settings, &place, out);
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

static void put_facts(struct buf *out, const struct setting_row *row)
{
    struct buf text;
    buf_init(&text, COMMENT_BYTES);
    buf_printf(&text, "%s (%s%s", row->help, kind_names[row->kind], before_domain(row));
    setting_print_domain(&text, row);
    buf_printf(&text, "; default %s%s", row->standard[0] ? row->standard : "empty", ")");
    put_comment(out, "  ", text.data);
    buf_deinit(&text);
}

static void put_line(struct buf *out, const struct setting_row *row, const char *name,
                     const char *value)
{
    buf_printf(out, "  %s%s: ", value ? "" : "# ", name);
    if (setting_is_text(row) || row->kind == KIND_WORD)
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
    for (struct setting_place place = setting_first(); place.row; setting_next(&place)) {
        const struct setting_row *row = place.row;
        const struct settings_choice *choice = NULL;
        const char *name = begin_row(&place, "\n", out);
        for (size_t c = 0; c < count && !choice; c++)
            choice = strcmp(choices[c].path, row->path) == 0 ? &choices[c] : NULL;
        put_facts(out, row);
        if (choice)
            put_comment(out, "  ", choice->reason);
        put_line(out, row, name, choice ? choice->value : NULL);
    }
}
