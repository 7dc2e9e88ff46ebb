#include "policy/openai_refusal.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/printable.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MESSAGE_BYTES 480
#define CURT_BYTES 20 /* "Not Found" explains nothing */

/* Advice for a status whose message may not explain itself; NULL or "": none. */
static const char *hint_of_status(const struct openai_refusal *refusal)
{
    switch (refusal->status) {
    case 401:
    case 403:
        return refusal->token_hint ? refusal->token_hint
                                   : "the token was refused; set policy.token";
    case 404:
        return refusal->missing_hint ? refusal->missing_hint
                                     : "check the base address (with /v1) and the model's name";
    default:
        return NULL;
    }
}

char *openai_redact(const char *text, const char *token)
{
    struct buf out;
    size_t length = strlen(token);
    if (length < OPENAI_TOKEN_MIN)
        return mem_strdup(text);
    buf_init(&out, LIMIT_CLIENT_ANSWER_BYTES);
    for (const char *at; (at = strstr(text, token)); text = at + length) {
        buf_append(&out, text, (size_t)(at - text));
        buf_puts(&out, "[token]");
    }
    buf_puts(&out, text);
    return buf_take(&out);
}

/* The first text among the shapes that endpoints use, outer before inner. */
static const char *find_message(const json_t *value)
{
    static const char *const keys[] = {"error", "message", "detail", "msg"};
    if (json_is_string(value))
        return json_string_value(value);
    for (int depth = 0; depth < 3; depth++) {
        const json_t *inner = NULL;
        if (json_is_array(value))
            inner = json_array_get(value, 0);
        for (size_t i = 0; !inner && i < COUNT(keys); i++)
            inner = json_object_get(value, keys[i]);
        if (json_is_string(inner))
            return json_string_value(inner);
        value = inner;
    }
    return NULL;
}

/* Waiting does not restore a spent quota. */
static bool is_out_of_quota(const json_t *value)
{
    static const char quota[] = "insufficient_quota";
    const json_t *error = json_object_get(value, "error");
    const char *code = json_string_value(json_object_get(error, "code"));
    const char *type = json_string_value(json_object_get(error, "type"));
    return (code && strcmp(code, quota) == 0) || (type && strcmp(type, quota) == 0);
}

/* An HTML page does not fit on one line. */
static const char *plain_body(const char *body)
{
    body += strspn(body, " \t\r\n");
    return *body == '<' || *body == '{' || *body == '[' ? NULL : body;
}

static enum retry_kind retry_kind_of_status(int status)
{
    switch (status) {
    case 429:
    case 502:
    case 503:
    case 504:
    case 529:
        return RETRY_BUSY;
    case 408:
    case 409:
    case 425:
        return RETRY_BROKEN;
    default:
        return status >= 500 && status != 501 ? RETRY_BROKEN : RETRY_NEVER;
    }
}

static void make_message(const struct openai_refusal *refusal, const json_t *value,
                         char message[MESSAGE_BYTES])
{
    const char *words = value ? find_message(value) : plain_body(refusal->body);
    char *clean = openai_redact(words ? words : "", refusal->token);
    snprintf(message, MESSAGE_BYTES, "%s", clean);
    printable_text(message, false);
    mem_free(clean);
    size_t length = strlen(message);
    while (length > 0 && strchr(" .", message[length - 1]))
        message[--length] = '\0';
    if (refusal->status >= 300 && refusal->status < 400)
        snprintf(message, MESSAGE_BYTES, "it redirects to another address; give that one");
    const char *hint = hint_of_status(refusal);
    if (hint && hint[0] && length < CURT_BYTES)
        snprintf(message + length, MESSAGE_BYTES - length, "%s%s", length ? ": " : "", hint);
}

int openai_refusal_error(const struct openai_refusal *refusal, enum retry_kind *kind,
                         struct err *err)
{
    char message[MESSAGE_BYTES];
    struct err ignored;
    json_t *value = NULL;
    int status = refusal->status;
    size_t bytes = refusal->bytes < LIMIT_CLIENT_ERROR_BYTES ? refusal->bytes : 0;
    if (json_parse("answer", refusal->body, bytes, &value, &ignored) < 0)
        value = NULL;
    make_message(refusal, value, message);
    *kind = is_out_of_quota(value) ? RETRY_NEVER : retry_kind_of_status(status);
    json_decref(value);
    int code = *kind != RETRY_NEVER || status >= 500 ? ERR_IO
               : status >= 400                       ? ERR_INPUT
                                                     : ERR_PROTOCOL;
    return err_set(err, code, "%.200s: %s%s(%d)", refusal->url, message,
                   message[0] ? " " : "answers ", status);
}
