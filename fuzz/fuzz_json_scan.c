/* The scan ends for every input. Where json_parse reads an object, the scan yields the same
 * members, in the same order, and each value reads as the same JSON; but for a NUL behind a number,
 * over which jansson passes. */
#include "base/json.h"
#include "base/json_scan.h"
#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_member(struct json_slice key, struct json_slice value, const char *name,
                         const json_t *expected)
{
    char *quoted = mem_printf("\"%.*s\"", (int)key.count, key.text);
    json_t *read = json_loadb(quoted, strlen(quoted), JSON_DECODE_ANY, NULL);
    json_t *again = json_loadb(value.text, value.count, JSON_DECODE_ANY, NULL);
    if (strcmp(json_string_value(read), name) != 0 || !json_equal(again, expected))
        abort();
    json_decref(again);
    json_decref(read);
    mem_free(quoted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_slice text = {(const char *)data, size}, key, value;
    struct json_scan scan;
    struct err err;
    json_t *object = NULL;
    int result = json_scan_begin(&scan, text);
    while (result >= 0 && (result = json_scan_next(&scan, &key, &value)) > 0) {
        (void)json_slice_number(value);
        mem_free(json_slice_text(value));
    }
    if (memchr(text.text, 0, size) || json_parse("text", text.text, size, &object, &err) < 0 ||
        !json_is_object(object)) {
        json_decref(object);
        return 0;
    }
    if (result != 0 || json_scan_begin(&scan, text) < 0)
        abort();
    const char *name;
    json_t *expected;
    json_object_foreach(object, name, expected)
    {
        if (json_scan_next(&scan, &key, &value) != 1)
            abort();
        check_member(key, value, name, expected);
    }
    if (json_scan_next(&scan, &key, &value) != 0)
        abort();
    json_decref(object);
    return 0;
}
