/* kernelgym_reply: refusals in KernelGYM's formats.
 *
 * There are three kinds, as its clients distinguish them: a request that does not validate (400
 * and an envelope with error_code), any other refusal (a status and {"detail": text}), and a
 * defect of the server (500 and an envelope). A failed evaluation is none of these: it is a
 * result.
 *
 * Ownership: `body` is the caller's (json_decref); error_code is static. Pure functions: the
 * caller passes the time, in milliseconds since 1970. */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdint.h>

/* X(symbol, name): its ErrorCode, as far as we use it */
#define KERNELGYM_CODES(X)                                                                         \
    X(KERNELGYM_NO_CODE, NULL)                                                                     \
    X(KERNELGYM_VALIDATION, "VALIDATION_ERROR")                                                    \
    X(KERNELGYM_COMPILATION, "COMPILATION_ERROR")                                                  \
    X(KERNELGYM_RUNTIME, "RUNTIME_ERROR")                                                          \
    X(KERNELGYM_CORRECTNESS, "CORRECTNESS_ERROR")                                                  \
    X(KERNELGYM_TIMEOUT, "TIMEOUT_ERROR")                                                          \
    X(KERNELGYM_SYSTEM, "SYSTEM_ERROR")                                                            \
    X(KERNELGYM_RESOURCE, "RESOURCE_ERROR")

enum kernelgym_code {
#define X(symbol, name) symbol,
    KERNELGYM_CODES(X)
#undef X
};

/* NULL for KERNELGYM_NO_CODE. */
const char *kernelgym_code_name(enum kernelgym_code code);

struct kernelgym_reply {
    int status;             /* of HTTP */
    const char *error_code; /* for the header X-Error-Code; NULL: without */
    json_t *body;
};

/* 400 and ERR_INPUT, or 0 if there are none: `errors` is a list of {"type", "loc", "msg"}, which it
 * takes. */
int kernelgym_refuse_request(struct kernelgym_reply *reply, json_t *errors, int64_t now_ms);
/* {"detail": text}. Returns ERR_INPUT. */
int kernelgym_refuse(struct kernelgym_reply *reply, int status, enum kernelgym_code code,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));
/* 500 for a failure of the server. */
void kernelgym_refuse_fault(struct kernelgym_reply *reply, const struct err *err, int64_t now_ms);
/* 400 for a body that json_parse refused. Returns ERR_INPUT. */
int kernelgym_refuse_body(struct kernelgym_reply *reply, const struct err *err, int64_t now_ms);
void kernelgym_reply_deinit(struct kernelgym_reply *reply);
