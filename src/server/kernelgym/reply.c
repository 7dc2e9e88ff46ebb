#include "server/kernelgym/reply.h"

#include "base/json.h"

#include <stdio.h>

static const char *const code_names[] = {
#define X(symbol, name) name,
    KERNELGYM_CODES(X)
#undef X
};

const char *kernelgym_code_name(enum kernelgym_code code)
{
    return code_names[code];
}

static void put_envelope(struct kernelgym_reply *reply, int status, enum kernelgym_code code,
                         const char *error, json_t *message, int64_t now_ms)
{
    *reply = (struct kernelgym_reply){.status = status,
                                      .error_code = code_names[code],
                                      .body = json_object()};
    json_put(reply->body, "error", json_text(error));
    json_put(reply->body, "message", message);
    json_put(reply->body, "error_code", json_text(code_names[code]));
    json_put(reply->body, "task_id", json_null());
    json_put(reply->body, "timestamp", json_time(now_ms));
}

int kernelgym_refuse_request(struct kernelgym_reply *reply, json_t *errors, int64_t now_ms)
{
    if (json_array_size(errors) == 0) {
        json_decref(errors);
        return 0;
    }
    char *list = json_dumps(errors, 0);
    put_envelope(reply, 400, KERNELGYM_VALIDATION, "RequestValidationError",
                 json_text(list ? list : "[]"), now_ms);
    free(list);
    json_decref(errors);
    return ERR_INPUT;
}

int kernelgym_refuse(struct kernelgym_reply *reply, int status, enum kernelgym_code code,
                     const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    *reply = (struct kernelgym_reply){.status = status,
                                      .error_code = code_names[code],
                                      .body = json_object()};
    json_put(reply->body, "detail", json_text(text));
    return ERR_INPUT;
}

void kernelgym_refuse_fault(struct kernelgym_reply *reply, const struct err *err, int64_t now_ms)
{
    put_envelope(reply, 500, KERNELGYM_SYSTEM, "InternalServerError", json_text(err->text), now_ms);
}

int kernelgym_refuse_body(struct kernelgym_reply *reply, const struct err *err, int64_t now_ms)
{
    json_t *errors = json_pack("[{s:s, s:[s], s:o}]", "type", "json_invalid", "loc", "body", "msg",
                               json_text(err->text));
    return kernelgym_refuse_request(reply, errors, now_ms);
}

void kernelgym_reply_deinit(struct kernelgym_reply *reply)
{
    json_decref(reply->body);
    *reply = (struct kernelgym_reply){0};
}
