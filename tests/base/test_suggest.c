#include "../support/test.h"
#include "base/suggest.h"

static const char *const names[] = {"name", "summary", "signature", "shape", "scale", NULL,
                                    "rows", "cols",    "in",        "inout", "check", ""};
#define NAMES COUNT(names)

TEST(nearest)
{
    static const struct {
        const char *what;
        const char *nearest;
    } rows[] = {
        {"shape", "shape"},  /* itself */
        {"shpe", "shape"},   /* one left out */
        {"shappe", "shape"}, /* one added */
        {"shake", "shape"},  /* one changed: before "scale", which is two away */
        {"sahpe", "shape"},  /* neighbours swapped */
        {"rwos", "rows"},    /* so counts as one slip of a short name */
        {"Name", "name"},    /* capitals are letters */
        {"signatrue", "signature"},
        {"sgnatrue", "signature"}, /* two slips in eight letters */
        {"i", NULL},               /* the one letter it adds is as much as it has */
        {"x", NULL},               /* not even the only letter is right */
        {"on", "in"},
        {"colour", NULL},
        {"xyz", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *nearest = suggest_name(rows[i].what, names, NAMES);
        if (!rows[i].nearest)
            assert_null(nearest);
        else
            assert_string_equal(nearest, rows[i].nearest);
    }
}

TEST(first_of_equals)
{
    static const char *const pairs[] = {"abd", "abe", "abc"};
    assert_ptr_equal(suggest_name("abx", pairs, 3), pairs[0]);
    assert_ptr_equal(suggest_name("abc", pairs, 3), pairs[2]);
    assert_null(suggest_name("abc", NULL, 0));
}

TEST(unknown)
{
    static const char *const fruit[] = {"apple", NULL, "pear", "plum"};
    static const char *many[100];
    static const struct {
        const char *name;
        const char *const *names;
        size_t count;
        const char *text;
    } rows[] = {
        {"aple", fruit, COUNT(fruit), "unknown fruit 'aple'; did you mean 'apple'?"},
        {"xyzzy", fruit, COUNT(fruit), "unknown fruit 'xyzzy'; choose one of apple, pear, plum"},
        {"", fruit, COUNT(fruit), "unknown fruit ''; choose one of apple, pear, plum"},
        {"apple", NULL, 0, "unknown fruit 'apple'"},
        {"kiwis", many, COUNT(many), "unknown fruit 'kiwis'; did you mean 'kiwi'?"},
    };
    for (size_t i = 0; i < COUNT(many); i++)
        many[i] = "kiwi";
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err;
        assert_int_equal(err_unknown(&err, "fruit", rows[i].name, rows[i].names, rows[i].count),
                         ERR_INPUT);
        assert_string_equal(err.text, rows[i].text);
    }
}

/* As many as there is room for. */
TEST(many_names)
{
    static const char begin[] = "unknown fruit 'xyzzy'; choose one of kiwi, kiwi, kiwi, ";
    const char *many[100], *one[1] = {support_text("%0300d", 1)};
    struct err err;
    for (size_t i = 0; i < COUNT(many); i++)
        many[i] = "kiwi";
    assert_int_equal(err_unknown(&err, "fruit", "xyzzy", many, COUNT(many)), ERR_INPUT);
    assert_memory_equal(err.text, begin, strlen(begin));
    assert_string_equal(err.text + strlen(err.text) - strlen("kiwi, …"), "kiwi, …");
    assert_true(strlen(err.text) > 200 && strlen(err.text) < 240);
    assert_int_equal(err_unknown(&err, "fruit", "xyzzy", one, 1), ERR_INPUT);
    assert_string_equal(err.text, "unknown fruit 'xyzzy'");
}

TEST(long_names)
{
    char just[129], over[130], other[129];
    memset(just, 'a', sizeof just);
    memset(over, 'a', sizeof over);
    memset(other, 'a', sizeof other);
    just[128] = over[129] = other[128] = '\0';
    other[5] = 'b';
    const char *const longs[] = {over, other};
    assert_ptr_equal(suggest_name(just, longs, 2), other);
    assert_null(suggest_name(over, longs, 2));
}
