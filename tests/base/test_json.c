#include "../support/test.h"
#include "base/json.h"

#include <math.h>
#include <stdlib.h>

static json_t *parsed(const char *text)
{
    json_t *value = NULL;
    struct err err = {0};
    assert_ok(json_parse("t", text, strlen(text), &value, &err), &err);
    return value;
}

TEST(parse_and_write)
{
    static const char *const rows[] = {
        "{}",
        "[]",
        "{\"b\":1,\"a\":[true,false,null,\"x\"]}",
        "[-1,0.1,1e+300,9223372036854775807]",
        "[\"\\u0000\"]",
        "[\"\xc3\xbc\"]",
        "[[[[[[[[[[]]]]]]]]]]",
        "[\"[[{{\\\"[[\"]",
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        json_t *value = NULL;
        struct buf out;
        buf_init(&out, 1000);
        int result = json_parse("t", rows[i], strlen(rows[i]), &value, NULL);
        if (strstr(rows[i], "u0000")) { /* a NUL looks like an end: refused */
            assert_int_equal(result, ERR_INPUT);
        } else {
            assert_int_equal(result, 0);
            assert_int_equal(json_line_write(value, &out, NULL), 0);
            assert_int_equal(out.data[out.len - 1], '\n');
            out.data[out.len - 1] = '\0';
            if (!strstr(rows[i], "1e+300"))
                assert_string_equal(out.data, rows[i]);
        }
        json_decref(value);
        buf_deinit(&out);
    }
}

TEST(parse_errors)
{
    static const struct {
        const char *text, *error;
    } rows[] = {
        {"", "f:1:"},
        {"5", "f:1:1: not JSON: '[' or '{' expected"},
        {"{\"a\":1,}", "f:1:8: not JSON"},
        {"{\n  \"a\": 1,\n  \"a\": 2\n}", "f:3:5: not JSON: duplicate object key"},
        {"[1] 2", "f:1:5: not JSON: end of file expected"},
        {"['a']", "f:1:2: not JSON"},
        {"[NaN]", "f:1:"},
        {"[\"\xff\"]", "f:1:"},
        {"[1,\n2", "f:2:"},
        {"[01]", "f:1:"},
        {"[1e999]", "f:1:"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        json_t *value = NULL;
        struct err err = {0};
        assert_int_equal(json_parse("f", rows[i].text, strlen(rows[i].text), &value, &err),
                         ERR_INPUT);
        assert_null(value);
        if (strncmp(err.text, rows[i].error, strlen(rows[i].error)) != 0)
            fail_msg("%s: %s", rows[i].text, err.text);
    }
    json_t *value;
    struct err err = {0};
    assert_int_equal(json_parse_line("f", 12, "{\"a\"}", 5, &value, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "f:12:5: "));
}

TEST(depth)
{
    char text[2 * JSON_DEPTH_MAX + 8];
    for (int depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 1; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        json_t *value = NULL;
        struct err err = {0};
        int result = json_parse("f", text, 2 * (size_t)depth, &value, &err);
        assert_int_equal(result, depth > JSON_DEPTH_MAX ? ERR_LIMIT : 0);
        if (result < 0)
            assert_string_equal(err.text, "f:1:65: nested deeper than 64 levels");
        json_decref(value);
    }
    size_t many = 1000000;
    char *flood = malloc(many);
    assert_non_null(flood);
    memset(flood, '\n', many);
    memset(flood + 5, '[', many - 5);
    json_t *value;
    struct err err = {0};
    assert_int_equal(json_parse("f", flood, many, &value, &err), ERR_LIMIT);
    assert_string_equal(err.text, "f:6:65: nested deeper than 64 levels");
    free(flood);
}

TEST(getters)
{
    json_t *object = parsed(
        "{\"s\":\"text\",\"i\":-5,\"d\":0.5,\"b\":true,\"a\":[1],\"o\":{},\"n\":null}");
    struct err err = {0};
    const char *text = "untouched";
    int64_t whole = 99;
    double number = 99;
    bool flag = false;
    json_t *inner = NULL;
    assert_int_equal(json_get_string(object, "s", &text, &err), 0);
    assert_string_equal(text, "text");
    assert_int_equal(json_get_int(object, "i", &whole, &err), 0);
    assert_int_equal(whole, -5);
    assert_int_equal(json_get_double(object, "d", &number, &err), 0);
    assert_true(number == 0.5);
    assert_int_equal(json_get_double(object, "i", &number, &err), 0);
    assert_true(number == -5);
    assert_int_equal(json_get_bool(object, "b", &flag, &err), 0);
    assert_true(flag);
    assert_int_equal(json_get_array(object, "a", &inner, &err), 0);
    assert_true(json_is_array(inner));
    assert_int_equal(json_get_object(object, "o", &inner, &err), 0);
    assert_true(json_is_object(inner));

    assert_int_equal(json_get_string(object, "i", &text, &err), ERR_INPUT);
    assert_string_equal(err.text, "'i' must be a string, not an integer");
    assert_int_equal(json_get_int(object, "d", &whole, &err), ERR_INPUT);
    assert_string_equal(err.text, "'d' must be an integer, not a number");
    assert_int_equal(json_get_bool(object, "s", &flag, &err), ERR_INPUT);
    assert_string_equal(err.text, "'s' must be true or false, not a string");
    assert_int_equal(json_get_array(object, "o", &inner, &err), ERR_INPUT);
    assert_string_equal(err.text, "'o' must be an array, not an object");
    assert_int_equal(json_get_object(object, "b", &inner, &err), ERR_INPUT);
    assert_string_equal(err.text, "'b' must be an object, not a boolean");
    assert_int_equal(json_get_string(object, "x", &text, &err), ERR_INPUT);
    assert_string_equal(err.text, "'x' is missing; it must be a string");
    assert_int_equal(json_get_double(object, "n", &number, &err), ERR_INPUT);
    assert_string_equal(err.text, "'n' is missing; it must be a number");

    text = "untouched";
    assert_int_equal(json_find_string(object, "x", &text, &err), 0);
    assert_int_equal(json_find_string(object, "n", &text, &err), 0);
    assert_string_equal(text, "untouched");
    assert_int_equal(json_find_string(object, "s", &text, &err), 0);
    assert_string_equal(text, "text");
    assert_int_equal(json_find_int(object, "s", &whole, &err), ERR_INPUT);
    /* What is no object has no keys. */
    assert_int_equal(json_get_int(json_object_get(object, "a"), "i", &whole, &err), ERR_INPUT);
    assert_int_equal(json_get_int(NULL, "i", &whole, NULL), ERR_INPUT);
    json_decref(object);
}

TEST(keys)
{
    static const char *const names[] = {"problem", "candidate"};
    struct err err = {0};
    json_t *good = parsed("{\"candidate\":1}"), *slip = parsed("{\"problem\":1,\"candidat\":2}"),
           *wild = parsed("{\"xyzzy\":1}");
    assert_int_equal(json_check_keys(good, names, 2, &err), 0);
    assert_int_equal(json_check_keys(slip, names, 2, &err), ERR_INPUT);
    assert_string_equal(err.text, "unknown key 'candidat'; did you mean 'candidate'?");
    assert_int_equal(json_check_keys(wild, names, 2, &err), ERR_INPUT);
    assert_string_equal(err.text, "unknown key 'xyzzy'; choose one of problem, candidate");
    json_decref(good);
    json_decref(slip);
    json_decref(wild);
}

TEST(values_that_always_succeed)
{
    json_t *array = json_array();
    json_array_append_new(array, json_number(0.1));
    json_array_append_new(array, json_number(1.0 / 3));
    json_array_append_new(array, json_number(NAN));
    json_array_append_new(array, json_number(-INFINITY));
    json_array_append_new(array, json_number(4e15));
    json_array_append_new(array, json_text(NULL));
    json_array_append_new(array, json_text("gr\xc3\xbcn"));
    json_array_append_new(array, json_text("\xff"
                                           "a\xc0\xaf\xed\xa0\x80z"));
    json_array_append_new(array, json_text_bytes("a\0b", 3));
    json_array_append_new(array, json_text_bytes(NULL, 0));
    json_array_append_new(array, json_text_bytes("\xe2\x82\xac\xe2\x82", 5));
    struct buf out;
    buf_init(&out, 1000);
    assert_int_equal(json_line_write(array, &out, NULL), 0);
#define BAD "\xef\xbf\xbd"
    assert_string_equal(out.data,
                        "[0.1,0.333333333333333,null,null,4e15,null,\"gr\xc3\xbcn\",\"" BAD
                        "a" BAD BAD BAD BAD BAD "z\",\"a" BAD "b\",\"\",\"\xe2\x82\xac" BAD BAD
                        "\"]\n");
    json_decref(array);
    buf_deinit(&out);
}

TEST(a_line_that_does_not_fit)
{
    json_t *object = json_object();
    json_put(object, "key", json_text("a long value"));
    struct buf out;
    struct err err = {0};
    buf_init(&out, 10);
    assert_int_equal(json_line_write(object, &out, &err), ERR_LIMIT);
    assert_non_null(strstr(err.text, "longer than 10 bytes"));
    json_decref(object);
    buf_deinit(&out);
}
