/* err: what went wrong, in one sentence that a person can act on.
 *
 * A fallible function returns 0 or one of the negative codes below and, on failure, fills the
 * caller's `struct err`. The text says what, where (file:line:column of *their* input) and what to
 * do. It is one line without a final full stop or newline; it never holds more than ERR_TEXT_MAX
 * bytes. `err` may be NULL where the caller does not care.
 *
 * Threads: a struct err belongs to one caller; nothing here is shared.
 */
#pragma once

#include <stdarg.h>

#define ERR_TEXT_MAX 768

/* X(symbol, value, name, meaning) */
#define ERR_CODES(X)                                                                               \
    X(ERR_INPUT, -1, "input", "what the user gave is not usable")                                  \
    X(ERR_MISSING, -2, "missing", "a file, program or name is not there")                          \
    X(ERR_IO, -3, "io", "a system call failed")                                                    \
    X(ERR_LIMIT, -4, "limit", "a bound from limits.h or the settings was reached")                 \
    X(ERR_TIMEOUT, -5, "timeout", "a deadline passed")                                             \
    X(ERR_CRASH, -6, "crash", "a process ended by itself")                                         \
    X(ERR_UNSUPPORTED, -7, "unsupported", "this machine or build cannot do it")                    \
    X(ERR_CANCELLED, -8, "cancelled", "the caller cancelled it")                                   \
    X(ERR_PROTOCOL, -9, "protocol", "the peer broke the protocol")                                 \
    X(ERR_INTERNAL, -10, "internal", "a defect of warpgym")

enum err_code {
#define X(symbol, value, name, meaning) symbol = value,
    ERR_CODES(X)
#undef X
};

struct err {
    int code;
    char text[ERR_TEXT_MAX];
};

/* Sets code and text; returns code, so that a report and a return fit one expression. */
int err_set(struct err *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As err_set, with ": " and the message of `errno_value` behind the text. */
int err_sys(struct err *err, int errno_value, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "<text>: " before the message that is there already; returns its code. */
int err_prefix(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "input", "io", …; "ok" for 0. Never NULL. */
const char *err_name(int code);

#define NODISCARD __attribute__((warn_unused_result))
