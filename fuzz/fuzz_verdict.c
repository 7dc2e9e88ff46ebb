/* A verdict is refused with a reason, or what it writes reads back and writes the same. */
#include "base/json.h"
#include "judge/verdict.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LINE_BYTES ((size_t)1 << 24)

/* As one line, read back; NULL where it was refused. */
static json_t *rewrite(const json_t *json, struct buf *line)
{
    struct verdict verdict;
    struct err err = {0};
    json_t *written = NULL;
    buf_reset(line);
    if (verdict_read(json, &verdict, &err) == 0)
        written = verdict_json(&verdict);
    else if (!err.text[0])
        abort();
    verdict_deinit(&verdict);
    if (!written)
        return NULL;
    json_t *again;
    if (json_line_write(written, line, &err) < 0 ||
        json_parse("line", line->data, line->len, &again, &err) < 0)
        abort();
    json_decref(written);
    return again;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {0};
    struct buf one, two;
    json_t *json;
    if (json_parse("verdict", (const char *)data, size, &json, &err) < 0)
        return 0;
    buf_init(&one, LINE_BYTES);
    buf_init(&two, LINE_BYTES);
    json_t *again = rewrite(json, &one);
    json_t *third = again ? rewrite(again, &two) : NULL;
    if (again && !third)
        abort();
    json_decref(third);
    json_decref(again);
    json_decref(json);
    buf_deinit(&one);
    buf_deinit(&two);
    return 0;
}
