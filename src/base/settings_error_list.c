/* settings_error_list: all errors of one reading. Declared in settings.h. */
#include "base/settings_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void setting_errors_add(struct setting_errors *errors, const struct err *err)
{
    struct setting_error *error = arena_alloc(&errors->arena, sizeof *error);
    error->text = arena_strdup(&errors->arena, err->text);
    if (errors->last)
        errors->last->next = error;
    else
        errors->first = error;
    errors->last = error;
    errors->code = errors->code ? errors->code : err->code;
}

void settings_refuse(struct setting_errors *errors, const struct settings *settings,
                     const char *path, const char *format, ...)
{
    struct setting_place place = setting_named(path);
    const struct setting_state *state = place.row ? &settings->states[place.index] : NULL;
    struct err err;
    char text[ERR_TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    err_set(&err, ERR_INPUT, "%s", text);
    if (state && state->origin == ORIGIN_FILE && state->source)
        err_prefix(&err, "%s:%d:%d", state->source, state->line, state->column);
    else if (state && state->origin == ORIGIN_ENVIRONMENT && state->source)
        err_prefix(&err, "%s", state->source);
    setting_errors_add(errors, &err);
}

const char *setting_errors_at(const struct setting_errors *errors, size_t index)
{
    const struct setting_error *error = errors->first;
    for (; error && index > 0; index--)
        error = error->next;
    return error ? error->text : NULL;
}

int setting_errors_first(const struct setting_errors *errors, struct err *err)
{
    return errors->first ? err_set(err, errors->code, "%s", errors->first->text) : 0;
}

void setting_errors_deinit(struct setting_errors *errors)
{
    arena_deinit(&errors->arena);
    *errors = (struct setting_errors){0};
}
