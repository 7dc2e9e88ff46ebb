/* Text that json_parse takes must write, and read back to something that writes the same. Whatever
 * a model wrote, json_parse_mended takes the strings that hold it. */
#include "base/json.h"
#include "base/json_mend.h"
#include "base/utf8.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every helper that reads an object, whatever it holds. */
static void read_all(const json_t *object)
{
    static const char *const keys[] = {"a", "b", "id"};
    struct err err;
    const char *text;
    int64_t whole;
    double number;
    bool flag;
    json_t *inner;
    int codes = json_check_keys(object, keys, 3, &err);
    for (size_t i = 0; i < 3; i++) {
        codes |= json_get_string(object, keys[i], &text, &err);
        codes |= json_get_int(object, keys[i], &whole, &err);
        codes |= json_get_double(object, keys[i], &number, &err);
        codes |= json_get_bool(object, keys[i], &flag, &err);
        codes |= json_find_array(object, keys[i], &inner, &err);
        codes |= json_find_object(object, keys[i], &inner, &err);
    }
    if (codes > 0)
        abort();
}

static void round_trip(const json_t *value)
{
    struct buf one, two;
    struct err err;
    json_t *again;
    buf_init(&one, (size_t)1 << 24);
    buf_init(&two, (size_t)1 << 24);
    if (json_line_write(value, &one, &err) < 0 ||
        json_parse("again", one.data, one.len, &again, &err) < 0 ||
        json_line_write(again, &two, &err) < 0 || strcmp(one.data, two.data) != 0)
        abort();
    json_decref(again);
    buf_deinit(&one);
    buf_deinit(&two);
}

static bool is_number(const char *at, size_t left)
{
    bool number = left >= 6 && at[0] == '\\' && at[1] == 'u';
    for (size_t i = 2; number && i < 6; i++)
        number = isxdigit((unsigned char)at[i]);
    return number;
}

/* The bytes as a string whose sender escaped what JSON demands, and backslashes before all but `u`:
 * those may begin an escape of any number. */
static void put_string(struct buf *out, const char *bytes, size_t count)
{
    buf_puts(out, "[\"");
    for (size_t i = 0; i < count; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if (byte < 0x20)
            buf_printf(out, "\\u%04x", byte);
        else if (byte == '"' || (byte == '\\' && !is_number(bytes + i, count - i)))
            buf_printf(out, "\\%c", byte);
        else
            buf_append(out, bytes + i, 1);
    }
    buf_puts(out, "\"]");
}

static void mend(const char *bytes, size_t count, const json_t *strict)
{
    struct buf text;
    struct err err;
    json_t *value;
    if (strict) {
        if (json_parse_mended("again", 1, bytes, count, &value, &err) < 0 ||
            !json_equal(value, strict))
            abort();
        json_decref(value);
    }
    buf_init(&text, 6 * count + 4);
    put_string(&text, bytes, count);
    if (json_parse_mended("string", 1, text.data, text.len, &value, &err) < 0)
        abort();
    const json_t *string = json_array_get(value, 0);
    if (strlen(json_string_value(string)) != json_string_length(string) ||
        !utf8_is_valid(json_string_value(string), json_string_length(string)))
        abort();
    round_trip(value);
    json_decref(value);
    buf_deinit(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *value = NULL;
    struct err err = {0};
    int result = json_parse("input", (const char *)data, size, &value, &err);
    if (result < 0 ? value != NULL || err.text[0] == '\0' : value == NULL)
        abort();
    if (result == 0) {
        read_all(value);
        round_trip(value);
    }
    mend((const char *)data, size, value);
    json_decref(value);
    json_t *text = json_text_bytes((const char *)data, size);
    json_t *array = json_pack("[o]", text);
    if (!array)
        abort();
    round_trip(array);
    json_decref(array);
    return 0;
}
