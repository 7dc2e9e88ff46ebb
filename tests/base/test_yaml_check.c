#include "../support/test.h"
#include "base/yaml_check.h"

static const struct {
    const char *text, *place; /* NULL: nothing is wrong */
} rows[] = {
    {"", NULL},
    {"a: b", NULL},
    {"a: why?", NULL},
    {"a: \"why? because\"", NULL},
    {"# what ? is this\na: b # and ? that", NULL},
    {"a?: b", NULL},
    {"?a: b", NULL},
    {"? a", "x:1:1:"},
    {"? tzrun:\t: :!run:", "x:1:1:"}, /* libfyaml 0.7.12 crashes on it */
    {"a: b\n  ? c:\t: d", "x:2:3:"},
    {"{? a:\t: b}", "x:1:2:"},
    {"a: [b,?\tc]", "x:1:7:"},
    {"- ?\n", "x:1:3:"},
    {"?", "x:1:1:"},
    {"a: 5 %", NULL},
    {"  % a", NULL},
    {"%YAML 1.2\n", "x:1:1:"},
    {"name: c\n%nd\xca\xd9: [a]\nb: c", "x:2:1:"}, /* libfyaml 0.7.12 never comes back from it */
    {"a: b\r%c", "x:1:6:"},
};

TEST(explicit_keys)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        int result = yaml_check("x", rows[i].text, strlen(rows[i].text), &err);
        assert_int_equal(result, rows[i].place ? ERR_INPUT : 0);
        if (rows[i].place && strncmp(err.text, rows[i].place, strlen(rows[i].place)) != 0)
            fail_msg("%s: %s", rows[i].text, err.text);
    }
}
