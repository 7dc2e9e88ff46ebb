#include "base/err.h"

#include <stdio.h>
#include <string.h>

static int err_vset(struct err *err, int code, const char *format, va_list args)
{
    if (err) {
        err->code = code;
        vsnprintf(err->text, sizeof err->text, format, args);
    }
    return code;
}

int err_set(struct err *err, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    err_vset(err, code, format, args);
    va_end(args);
    return code;
}

int err_sys(struct err *err, int errno_value, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    err_vset(err, ERR_IO, format, args);
    va_end(args);
    if (err) {
        size_t used = strlen(err->text);
        snprintf(err->text + used, sizeof err->text - used, ": %s", strerror(errno_value));
    }
    return ERR_IO;
}

int err_prefix(struct err *err, const char *format, ...)
{
    if (!err)
        return ERR_INTERNAL;
    char before[ERR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(before, sizeof before - 2, format, args);
    va_end(args);
    size_t used = length < 0 ? 0 : (size_t)length;
    if (used > sizeof before - 3)
        used = sizeof before - 3;
    memcpy(before + used, ": ", 2);
    used += 2;
    size_t kept = strnlen(err->text, sizeof err->text - 1 - used);
    memmove(err->text + used, err->text, kept);
    memcpy(err->text, before, used);
    err->text[used + kept] = '\0';
    return err->code;
}

const char *err_name(int code)
{
    switch (code) {
#define X(symbol, value, name, meaning)                                                            \
    case symbol:                                                                                   \
        return name;
        ERR_CODES(X)
#undef X
    default:
        return code == 0 ? "ok" : "unknown";
    }
}
