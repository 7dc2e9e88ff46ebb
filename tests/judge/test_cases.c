/* What is believed of the process that makes the cases of a simple problem: it may be a stranger's.
 */
#include "../support/test.h"
#include "judge/open/cases.h"

#include <stdio.h>

#define CASE(more)                                                                                 \
    "{\"name\":\"a\",\"expected\":2,\"tensors\":1,\"relative\":0.1,\"absolute\":0" more "}"

TEST(taken)
{
    static const char text[] = "{\"cases\":[" CASE(
        "") ","
            "{\"name\":\"b\\u001b[2J\",\"expected\":0,\"tensors\":0,"
            "\"relative\":0,\"absolute\":1},"
            "{\"name\":\"c\",\"expected\":1,\"tensors\":0,\"relative\":0,"
            "\"absolute\":2}]}";
    struct cases cases;
    uint32_t within;
    assert_int_equal(cases_parse(&cases, text, strlen(text), NULL), 0);
    assert_int_equal(cases.count, 3);
    assert_int_equal(cases.compared, 2);
    assert_int_equal(cases.first_tensors, 1);
    assert_string_equal(cases.items[1].name, "b?[2J");
    static const uint32_t of[] = {0, 0, 2, 2}, at[] = {0, 1, 0, 1};
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(cases_find(&cases, i, &within), of[i]);
        assert_int_equal(within, at[i]);
    }
    assert_true(cases.items[0].tolerance.relative == 0.1);
}

TEST(refused)
{
    static const struct {
        const char *text, *error;
    } refused[] = {
        {"", "not JSON"},
        {"{}", "'cases' is missing"},
        {"{\"cases\":[]}", "there are 0 cases"},
        {"{\"cases\":[1]}", "'name' is missing"},
        {"{\"cases\":[" CASE(",\"name\":\"b\"") "]}", "not JSON"},
        {"{\"cases\":[{\"name\":\"a\",\"expected\":-1,\"tensors\":1,\"relative\":0,"
         "\"absolute\":0}]}",
         "are the most"},
        {"{\"cases\":[{\"name\":\"a\",\"expected\":129,\"tensors\":1,\"relative\":0,"
         "\"absolute\":0}]}",
         "are the most"},
        {"{\"cases\":[{\"name\":\"a\",\"expected\":1,\"tensors\":25,\"relative\":0,"
         "\"absolute\":0}]}",
         "are the most"},
        {"{\"cases\":[{\"name\":\"a\",\"expected\":1,\"tensors\":1,\"relative\":-1,"
         "\"absolute\":0}]}",
         "must not be negative"},
        {"{\"cases\":[{\"name\":\"a\",\"expected\":1,\"tensors\":1,\"relative\":NaN,"
         "\"absolute\":0}]}",
         "not JSON"},
    };
    for (size_t i = 0; i < COUNT(refused); i++) {
        struct cases cases;
        struct err err = {0};
        assert_true(cases_parse(&cases, refused[i].text, strlen(refused[i].text), &err) < 0);
        assert_int_equal(cases.count, 0);
        if (!strstr(err.text, refused[i].error))
            fail_msg("%s: %s", refused[i].text, err.text);
    }
}

/* One more than there may be, of cases and of what they expect together. */
TEST(too_many)
{
    static char text[CASES_MOST * 128];
    for (int count = CASES_MOST; count <= CASES_MOST + 1; count++) {
        for (int outputs = 2; outputs <= 3; outputs++) {
            struct cases cases;
            size_t length = (size_t)snprintf(text, sizeof text, "{\"cases\":[");
            for (int i = 0; i < count; i++)
                length += (size_t)snprintf(text + length, sizeof text - length,
                                           "%s{\"name\":\"a\",\"expected\":%d,\"tensors\":0,"
                                           "\"relative\":0,\"absolute\":0}",
                                           i ? "," : "", outputs);
            length += (size_t)snprintf(text + length, sizeof text - length, "]}");
            bool fits = count == CASES_MOST && outputs == 2;
            assert_int_equal(cases_parse(&cases, text, length, NULL), fits ? 0 : ERR_LIMIT);
        }
    }
}
