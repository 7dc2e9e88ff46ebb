/* A stream says the same however it is cut up, and whatever its events hold is read or refused. */
#include "base/mem.h"
#include "policy/openai_answer.h"
#include "policy/openai_refusal.h"
#include "policy/policy_ops.h"
#include "policy/sse.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EVENT_BYTES 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
    if (!good)
        abort();
}

static int keep(void *context, const char *data, size_t count, struct err *err)
{
    struct buf *all = context;
    check(count <= EVENT_BYTES && data[count] == '\0');
    buf_append(all, data, count);
    buf_append(all, "", 1);
    return 0;
}

static int feed(const char *bytes, size_t count, size_t step, struct buf *all)
{
    struct sse sse;
    struct err err = {0};
    int result = 0;
    sse_init(&sse, EVENT_BYTES, keep, all);
    for (size_t at = 0; at < count && result == 0; at += step)
        result = sse_feed(&sse, bytes + at, count - at < step ? count - at : step, &err);
    check(result == 0 || (result == ERR_LIMIT && err.text[0]));
    sse_deinit(&sse);
    return result;
}

static void check_refusal(const char *text)
{
    const struct openai_refusal refusal = {
        .url = "u", .token = "secret", .status = 400, .body = text, .bytes = strlen(text)};
    enum retry_kind kind;
    struct err err;
    int code = openai_refusal_error(&refusal, &kind, &err);
    check(code == ERR_INPUT && kind == RETRY_NEVER);
    check(!strpbrk(err.text, "\n\x1b") && !strstr(err.text, "secret"));
}

static void read_all(const char *events, size_t count)
{
    struct openai_reading reading;
    struct policy_answer answer;
    struct err err = {0};
    openai_reading_init(&reading);
    for (const char *at = events; at < events + count; at += strlen(at) + 1) {
        int result = openai_read_event(&reading, at, strlen(at), &err);
        check(result <= 0 && (result == 0 || err.text[0]));
        check(!reading.refused || (reading.refused >= 400 && reading.refused < 600));
        if (reading.refusal)
            check_refusal(reading.refusal);
    }
    policy_answer_init(&answer);
    openai_reading_take(&reading, &answer);
    check(answer.text != NULL);
    policy_answer_deinit(&answer);
    openai_reading_reset(&reading);
    if (openai_read_whole(&reading, events, strlen(events), &err) == 0)
        check(openai_reading_is_whole(&reading));
    openai_reading_deinit(&reading);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = mem_copy(data, size);
    struct buf whole, parts;
    buf_init(&whole, 2 * size + 2);
    buf_init(&parts, 2 * size + 2);
    int one = feed(text, size, size + 1, &whole);
    int other = feed(text, size, 1 + size % 7, &parts);
    check(one == other && whole.len == parts.len && memcmp(whole.data, parts.data, whole.len) == 0);
    read_all(whole.data, whole.len);
    check_refusal(text);
    buf_deinit(&whole);
    buf_deinit(&parts);
    mem_free(text);
    return 0;
}
