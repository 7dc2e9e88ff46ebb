#include "base/settings.h"

#include "base/file.h"
#include "base/settings_internal.h"
#include "base/suggest.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX_BYTES 4096 /* of a value: a path, or a list of paths */
#define ALIGNMENT 16        /* of a section's struct */
#define WORDS_MOST 64       /* of a row */

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

const void *settings_section(const struct settings *settings, const struct setting_section *section)
{
    size_t offset = 0;
    for (const struct setting_section *const *at = setting_registry.sections; *at != section; at++)
        offset += aligned((*at)->size_bytes);
    return (const char *)settings->values + offset;
}

static size_t values_bytes(void)
{
    size_t bytes = 0;
    for (const struct setting_section *const *at = setting_registry.sections; *at; at++)
        bytes += aligned((*at)->size_bytes);
    return bytes;
}

/* Passes over the sections that end before the row, empty ones too. */
static void settle(struct setting_place *place, size_t row)
{
    const struct setting_section *const *at = setting_registry.sections;
    place->section_offset = 0;
    place->row = NULL;
    while (*at && row >= (*at)->count) {
        row -= (*at)->count;
        place->section_offset += aligned((*at)->size_bytes);
        at++;
    }
    place->section = *at;
    if (*at)
        place->row = &(*at)->rows[row];
}

struct setting_place setting_numbered(size_t index)
{
    struct setting_place place = {.index = index};
    settle(&place, index);
    return place;
}

struct setting_place setting_first(void)
{
    return setting_numbered(0);
}

void setting_next(struct setting_place *place)
{
    place->index++;
    if (place->row + 1 < place->section->rows + place->section->count)
        place->row++;
    else
        settle(place, place->index);
}

struct setting_place setting_named(const char *path)
{
    struct setting_place place = setting_first();
    while (place.row && strcmp(place.row->path, path) != 0)
        setting_next(&place);
    return place;
}

void *setting_field(const struct settings *settings, const struct setting_place *place)
{
    return (char *)settings->values + place->section_offset + place->row->offset;
}

size_t settings_count(void)
{
    size_t count = 0;
    for (const struct setting_section *const *at = setting_registry.sections; *at; at++)
        count += (*at)->count;
    return count;
}

const char *settings_path(size_t index)
{
    return setting_numbered(index).row->path;
}

/* A decimal number with one of the units behind it; whole after multiplying. */
static bool parse_units(const char *text, const struct setting_unit *units, double *value)
{
    char *end;
    if (!isdigit((unsigned char)*text) || text[1] == 'x' || text[1] == 'X')
        return false;
    double number = strtod(text, &end);
    while (*end == ' ')
        end++;
    for (; units->name; units++) {
        if (strcmp(end, units->name) != 0)
            continue;
        *value = number * units->factor;
        return isfinite(*value) && *value == floor(*value);
    }
    return false;
}

static bool parse_number(const char *text, bool whole, double *value)
{
    char *end;
    if (*text == '\0' || isspace((unsigned char)*text))
        return false;
    errno = 0;
    *value = whole ? (double)strtoll(text, &end, 10) : strtod(text, &end);
    return *end == '\0' && errno == 0 && isfinite(*value);
}

static bool parse_bool(const char *text, double *value)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};
    for (size_t i = 0; i < COUNT(words); i++)
        if (strcmp(text, words[i]) == 0) {
            *value = (double)(i % 2);
            return true;
        }
    return false;
}

static bool parse_value(enum setting_kind kind, const char *text, double *value)
{
    switch (kind) {
    case KIND_INT:
        return parse_number(text, true, value);
    case KIND_FLOAT:
        return parse_number(text, false, value);
    case KIND_BOOL:
        return parse_bool(text, value);
    case KIND_DURATION:
        return parse_units(text, setting_durations, value);
    default:
        return parse_units(text, setting_sizes, value);
    }
}

static int refuse_value(const struct setting_row *row, const char *value, struct err *err)
{
    static const char *const wanted[] = {
        [KIND_INT] = "is not a whole number",
        [KIND_FLOAT] = "is not a number",
        [KIND_BOOL] = "is neither true nor false",
        [KIND_DURATION] = "is not a duration (write 250ms, 10s, 2m or 1h)",
        [KIND_BYTES] = "is not a size (write 4096, 512MiB, 2GiB or 1GB)",
    };
    return err_set(err, ERR_INPUT, "%s: '%.60s' %s%s%s", row->path, value, wanted[row->kind],
                   row->absent ? ", nor " : "", row->absent ? row->absent : "");
}

static int refuse_bounds(const struct setting_row *row, const char *value, struct err *err)
{
    struct buf bounds;
    buf_init(&bounds, 128);
    setting_print_number(&bounds, row->kind, row->low);
    buf_puts(&bounds, " to ");
    setting_print_number(&bounds, row->kind, row->high);
    int result = err_set(err, ERR_INPUT, "%s: '%.60s' is outside %s", row->path, value,
                         bounds.data);
    buf_deinit(&bounds);
    return result;
}

static int assign_text(struct settings *settings, const struct setting_row *row, const char *value,
                       const char **field, struct err *err)
{
    if (strlen(value) > TEXT_MAX_BYTES)
        return err_set(err, ERR_LIMIT, "%s: longer than %d bytes", row->path, TEXT_MAX_BYTES);
    for (const char *at = value; *at; at++)
        if (iscntrl((unsigned char)*at))
            return err_set(err, ERR_INPUT, "%s: holds a control character", row->path);
    if (!*value && row->absent)
        return err_set(err, ERR_INPUT, "%s: empty; write %s, or leave it out", row->path,
                       row->absent);
    int result = *value ? file_check_text(row->path, value, strlen(value), err) : 0;
    if (result == 0 && *value && row->check && row->check(value, err) < 0)
        result = err_prefix(err, "%s", row->path);
    if (result == 0)
        *field = arena_strdup(&settings->arena, value);
    return result;
}

static int assign_word(const struct setting_row *row, const char *word, void *field,
                       struct err *err)
{
    const char *words[WORDS_MOST] = {row->absent}, *one;
    size_t count = 1;
    for (size_t i = 0; (one = word_at(row->words, i)); i++) {
        if (count < WORDS_MOST)
            words[count++] = one;
        if (strcmp(one, word) != 0)
            continue;
        if (row->optional)
            *(struct optional_word *)field = (struct optional_word){true, (int)i};
        else
            *(int *)field = (int)i;
        return 0;
    }
    err_unknown(err, "value", word, words, count);
    return err_prefix(err, "%s", row->path);
}

static void store_number(const struct setting_row *row, double value, void *field)
{
    if (row->optional && row->kind == KIND_FLOAT)
        *(struct optional_float *)field = (struct optional_float){true, value};
    else if (row->optional)
        *(struct optional_int *)field = (struct optional_int){true, (int64_t)value};
    else if (row->kind == KIND_FLOAT)
        *(double *)field = value;
    else if (row->kind == KIND_BOOL)
        *(bool *)field = value != 0;
    else if (row->kind == KIND_BYTES)
        *(uint64_t *)field = (uint64_t)value;
    else
        *(int64_t *)field = (int64_t)value;
}

/* A value that is not given. */
static void store_absent(const struct setting_row *row, void *field)
{
    if (setting_is_text(row))
        *(const char **)field = "";
    else if (row->kind == KIND_WORD)
        *(struct optional_word *)field = (struct optional_word){0};
    else if (row->kind == KIND_FLOAT)
        *(struct optional_float *)field = (struct optional_float){0};
    else
        *(struct optional_int *)field = (struct optional_int){0};
}

int setting_assign(struct settings *settings, const struct setting_place *place, const char *text,
                   struct err *err)
{
    const struct setting_row *row = place->row;
    void *field = setting_field(settings, place);
    double value;
    if (row->absent && strcmp(text, row->absent) == 0) {
        store_absent(row, field);
        return 0;
    }
    if (setting_is_text(row))
        return assign_text(settings, row, text, field, err);
    if (row->kind == KIND_WORD)
        return assign_word(row, text, field, err);
    if (!parse_value(row->kind, text, &value))
        return refuse_value(row, text, err);
    if (setting_is_bounded(row) && !(value >= row->low && value <= row->high))
        return refuse_bounds(row, text, err);
    store_number(row, value, field);
    return 0;
}

void settings_init(struct settings *settings)
{
    *settings = (struct settings){0};
    settings->values = arena_alloc(&settings->arena, values_bytes());
    settings->states = arena_alloc(&settings->arena, settings_count() * sizeof *settings->states);
    for (struct setting_place place = setting_first(); place.row; setting_next(&place))
        if (setting_assign(settings, &place, place.row->standard, NULL) < 0)
            abort(); /* a default outside its own bounds: a defect of the table */
}

void settings_copy(struct settings *settings, const struct settings *from)
{
    size_t states_bytes = settings_count() * sizeof *settings->states;
    *settings = (struct settings){.file = from->file};
    settings->values = arena_alloc(&settings->arena, values_bytes());
    settings->states = arena_alloc(&settings->arena, states_bytes);
    memcpy(settings->values, from->values, values_bytes());
    memcpy(settings->states, from->states, states_bytes);
}

void settings_deinit(struct settings *settings)
{
    arena_deinit(&settings->arena);
    setting_errors_deinit(&settings->errors);
}

int setting_unknown(const char *path, struct err *err)
{
    const char *names[SETTING_PATHS_MOST];
    size_t count = 0;
    for (struct setting_place place = setting_first(); place.row && count < SETTING_PATHS_MOST;
         setting_next(&place))
        names[count++] = place.row->path;
    return err_unknown(err, "setting", path, names, count);
}

int settings_set_from(struct settings *settings, const char *path, const char *value,
                      enum settings_origin origin, const char *source, struct err *err)
{
    struct setting_place place = setting_named(path);
    if (!place.row)
        return setting_unknown(path, err);
    int result = setting_assign(settings, &place, value, err);
    if (result == 0)
        settings->states[place.index] = (struct setting_state){
            .origin = (unsigned char)origin,
            .source = source ? arena_strdup(&settings->arena, source) : NULL,
        };
    return result;
}

int settings_set(struct settings *settings, const char *path, const char *value,
                 enum settings_origin origin, struct err *err)
{
    return settings_set_from(settings, path, value, origin, NULL, err);
}

int settings_assign(struct settings *settings, const char *assignment, struct err *err)
{
    const char *equals = strchr(assignment, '=');
    struct err own;
    int result;
    if (!err)
        err = &own;
    if (!equals) {
        result = err_set(err, ERR_INPUT, "'%.60s' is not KEY=VALUE", assignment);
    } else {
        char *path = mem_printf("%.*s", (int)(equals - assignment), assignment);
        result = settings_set(settings, path, equals + 1, ORIGIN_COMMAND_LINE, err);
        mem_free(path);
    }
    if (result < 0)
        setting_errors_add(&settings->errors, err);
    return result;
}

void settings_check_section(const struct settings *settings, const struct setting_section *section,
                            struct setting_errors *errors)
{
    if (section->check)
        section->check(settings, errors);
}

int settings_check(struct settings *settings, struct err *err)
{
    struct setting_errors found = {0};
    for (const struct setting_section *const *at = setting_registry.sections; *at; at++)
        settings_check_section(settings, *at, &found);
    int result = setting_errors_first(&found, err);
    for (const struct setting_error *error = found.first; error; error = error->next) {
        struct err one;
        err_set(&one, found.code, "%s", error->text);
        setting_errors_add(&settings->errors, &one);
    }
    setting_errors_deinit(&found);
    return result;
}

const char *settings_text(const struct settings *settings, const char *path)
{
    struct setting_place place = setting_named(path);
    return *(const char *const *)setting_field(settings, &place);
}

enum settings_origin settings_origin(const struct settings *settings, const char *path)
{
    struct setting_place place = setting_named(path);
    return place.row ? (enum settings_origin)settings->states[place.index].origin : ORIGIN_DEFAULT;
}

const char *settings_source(const struct settings *settings, const char *path)
{
    struct setting_place place = setting_named(path);
    return place.row ? settings->states[place.index].source : NULL;
}
