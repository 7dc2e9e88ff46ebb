/* Templates: every construct, every error with its place, the bounds. */
#include "../support/test.h"
#include "base/json.h"
#include "gym/prompt/template.h"

#include <stdio.h>

static const char values_text[] =
    "{\"name\": \"relu\", \"empty\": \"\", \"zero\": 0, \"one\": 1, \"third\": 0.5, \"big\": 1e+20,"
    " \"yes\": true, \"no\": false, \"nothing\": null, \"list\": [\"a\", \"b\", \"c\"],"
    " \"void\": [], \"none\": {}, \"deep\": {\"er\": {\"list\": [10, {\"x\": \"found\"}]}},"
    " \"rows\": [{\"name\": \"first\", \"n\": 1, \"in\": [1, 2]},"
    "            {\"name\": \"second\", \"n\": null, \"in\": []}],"
    " \"code\": \"int main(void)\\n{\\n}\\n\", \"ticks\": \"```c\\nx\\n````\\n\","
    " \"umlaut\": \"a\\u00fc\\u00fcb\", \"spaced\": \"  x \\n\", \"hole\": \"{{name}}\","
    " \"label\": \"cuda\", \"key-with\": \"dash\"}";

static json_t *values;

FIXTURE(setup)
{
    struct err err;
    assert_ok(json_parse("values", values_text, sizeof values_text - 1, &values, &err), &err);
    return 0;
}

FIXTURE(teardown)
{
    json_decref(values);
    return 0;
}

TEST_GROUP(setup, teardown);

static const char *find(void *context, const char **name, struct err *err)
{
    static const struct {
        const char *name, *called, *text;
    } all[] = {
        {"part", "own/part.txt", "<{{name}}>\n"},
        {"no_break", "own/no_break.txt", "plain"},
        {"two", "own/two.txt", "1\n{{>part}}\n2\n"},
        {"loops", "own/loops.txt", "{{>loops}}"},
        {"broken", "mine/broken.txt", "line\n  {{#if one}}"},
        {"nameless", "mine/nameless.txt", "{{nmae}}"},
    };
    for (size_t i = 0; i < COUNT(all); i++)
        if (strcmp(*name, all[i].name) == 0) {
            *name = all[i].called;
            return all[i].text;
        }
    err_set(err, ERR_MISSING, "unknown template '%s'", *name);
    return NULL;
}

static const struct template_source source = {.find = find};

static void check_renders(const char *text, const char *expected)
{
    struct buf out;
    struct err err;
    buf_init(&out, 4096);
    if (template_render("t", text, values, &source, &out, &err) < 0)
        fail_msg("%s -> %s", text, err.text);
    if (strcmp(out.data, expected) != 0)
        fail_msg("%s -> '%s', not '%s'", text, out.data, expected);
    /* What renders is a template. */
    if (template_check("t", text, &err) < 0)
        fail_msg("%s -> %s", text, err.text);
    buf_deinit(&out);
}

TEST(values)
{
    static const char *const rows[][2] = {
        {"", ""},
        {"no tag } at { all }}", "no tag } at { all }}"},
        {"{{name}}", "relu"},
        {"a{{ name }}b{{\tname\t}}c", "arelubreluc"},
        {"{{zero}} {{one}} {{third}} {{big}} {{yes}} {{no}}", "0 1 0.5 1e20 true false"},
        {"{{deep.er.list.0}} {{deep.er.list.1.x}} {{list.2}}", "10 found c"},
        {"{{key-with}}", "dash"},
        {"{{empty}}|", "|"},
        {"{{hole}}", "{{name}}"}, /* a value is never a template */
        {"{{\"{{\"}}name}}", "{{name}}"},
        {"{{\"a\\n\\t\\\"\\\\b\"}}", "a\n\t\"\\b"},
        {"{{-12}}", "-12"},
        {"{{! nothing {{name}}", ""},
        {"a{{! one\ntwo }}b", "ab"},
        {"{{!}}x", "x"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        check_renders(rows[i][0], rows[i][1]);
}

TEST(filters)
{
    static const char *const rows[][2] = {
        {"{{nothing|default:\"-\"}}{{absent|default:\"x\"}}{{name|default:\"-\"}}", "-xrelu"},
        {"{{deep.er.absent.more|default:3}}", "3"},
        {"{{absent|default:name}}{{absent|default:nothing|default:\"!\"}}", "relu!"},
        {"{{empty|default:\"-\"}}", ""},
        {"{{name|upper}} {{\"ÄbC\"|lower}}", "RELU Äbc"},
        {"[{{spaced|trim}}] [{{empty|trim}}]", "[x] []"},
        {"{{name|cut:4}} {{name|cut:99}}", "relu relu"},
        {"{{name|cut:3}}", "rel\n... (1 more bytes, left out)"},
        {"{{name|cut:0}}", "... (4 more bytes, left out)"},
        {"{{umlaut|cut:2}}", "a\n... (5 more bytes, left out)"}, /* not within a character */
        {"{{umlaut|cut:3}}", "aü\n... (3 more bytes, left out)"},
        {"{{code|cut:15}}", "int main(void)\n... (4 more bytes, left out)"},
        {"{{third|fixed:0}} {{third|fixed:3}} {{one|fixed:one}}", "0 0.500 1.0"},
        {"{{name|json}} {{list|json}} {{none|json}}", "\"relu\" [\"a\", \"b\", \"c\"] {}"},
        {"{{rows.0.in|json:1}}", "[\n 1,\n 2\n]"},
        {"{{\"a\\n\\nb\\n\"|indent:2}}", "  a\n\n  b\n"},
        {"{{code|fence}}", "```\nint main(void)\n{\n}\n```"},
        {"{{name|fence:\"c\"}}", "```c\nrelu\n```"},
        {"{{name|fence:label}}", "```cuda\nrelu\n```"},
        {"{{ticks|fence}}", "`````\n```c\nx\n````\n`````"},
        {"{{empty|fence}}", "```\n```"},
        {"{{ name | upper | cut : 2 | json }}", "\"RE\\n... (2 more bytes, left out)\""},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        check_renders(rows[i][0], rows[i][1]);
}

TEST(conditions)
{
    static const struct {
        const char *what;
        bool holds;
    } rows[] = {
        {"name", true},
        {"!name", false},
        {"absent", false},
        {"!absent", true},
        {"nothing", false},
        {"no", false},
        {"yes", true},
        {"zero", false},
        {"one", true},
        {"third", true},
        {"empty", false},
        {"void", false},
        {"list", true},
        {"none", false},
        {"deep", true},
        {"deep.er.list", true},
        {"deep.er.void", false},
        {"name == \"relu\"", true},
        {"name == \"x\"", false},
        {"name != \"relu\"", false},
        {"name != \"x\"", true},
        {"one == \"1\"", true},
        {"one == 1", true},
        {"yes == \"true\"", true},
        {"name == name", true},
        {"name == label", false},
        {"absent == \"\"", false},
        {"absent != \"x\"", true},
        {"list == \"a\"", false},
        {"! one", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[128];
        snprintf(text, sizeof text, "{{#if %s}}then{{else}}else{{/if}}", rows[i].what);
        check_renders(text, rows[i].holds ? "then" : "else");
        snprintf(text, sizeof text, "a{{#if %s}}b{{/if}}c", rows[i].what);
        check_renders(text, rows[i].holds ? "abc" : "ac");
    }
}

TEST(blocks)
{
    static const char *const rows[][2] = {
        {"{{#each list}}{{this}}{{/each}}", "abc"},
        {"{{#each list}}{{index}}{{number}} {{/each}}", "01 12 23 "},
        {"{{#each rows}}{{name}}:{{n|default:\"-\"}} {{/each}}{{name}}", "first:1 second:- relu"},
        {"{{#each rows}}{{#each in}}{{this}}{{name}}{{label}} {{/each}}{{/each}}",
         "1firstcuda 2firstcuda "},
        {"{{#each rows}}{{this.name}} {{/each}}", "first second "},
        {"{{#each void}}{{absent}}{{/each}}{{#each nothing}}x{{/each}}{{#each absent}}x{{/each}}",
         ""},
        {"{{#each deep.er.list}}{{#if x}}{{x}}{{else}}{{this}}{{/if}} {{/each}}", "10 found "},
        {"{{#if one}}{{#if zero}}a{{else}}b{{#if yes}}c{{/if}}{{/if}}{{else}}d{{/if}}", "bc"},
        {"{{#if zero}}{{absent}}{{>nowhere}}{{/if}}", ""}, /* what is not shown is not looked for */
        {"{{#if one}}a{{#each list}}{{#if index}},{{/if}}{{this}}{{/each}}{{/if}}", "aa,b,c"},
        {"{{index|default:\"outside\"}}{{this|default:\"too\"}}", "outsidetoo"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        check_renders(rows[i][0], rows[i][1]);
}

TEST(lines)
{
    static const char *const rows[][2] = {
        {"a\n{{#if one}}\nb\n{{/if}}\nc\n", "a\nb\nc\n"},
        {"a\n  {{#if zero}}  \nb\n\t{{else}}\nd\n{{/if}}\nc", "a\nd\nc"},
        {"{{#each list}}\n- {{this}}\n{{/each}}\n", "- a\n- b\n- c\n"},
        {"a\n{{! c }}\nb", "a\nb"},
        {"a\n{{! c }} x\nb", "a\n x\nb"},
        {"a\n{{name}}\nb", "a\nrelu\nb"}, /* a value's line stays */
        {"{{#if one}}{{/if}}\nb", "\nb"}, /* two tags are no single one */
        {"x {{#if one}}\ny{{/if}}", "x \ny"},
        {"a\r\n{{#if one}}\r\nb\r\n{{/if}}\r\n", "a\r\nb\r\n"},
        {"{{>part}}", "<relu>\n"},
        {"a\n  {{>part}}\nb", "a\n<relu>\nb"},
        {"a {{>part}} b", "a <relu> b"},
        {"a\n{{>no_break}}\nb", "a\nplainb"},
        {"[{{> two }}]", "[1\n<relu>\n2]"},
        {"{{#each rows}}{{>part}}{{/each}}", "<first><second>"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        check_renders(rows[i][0], rows[i][1]);
}

/* `checked`: it is no template, whatever the values. */
static const struct {
    const char *text, *error;
    bool checked;
} errors[] = {
    {"a\nb {{name", "t:2:3: this tag has no }} on its line", true},
    {"{{name\n}}", "t:1:1: this tag has no }} on its line", true},
    {"{{\"}}", "t:1:1: this tag has no }} on its line", true},
    {"x\n\n{{! never", "t:3:1: this comment has no }} behind it", true},
    {"äö {{}}", "t:1:6: a name, a number or a \"text\" is missing here", true},
    {"{{*}}", "t:1:3: a name, a number or a \"text\" is wanted here, not '*'", true},
    {"{{name name}}", "t:1:8: 'name' does not belong here", true},
    {"{{name.}}", "t:1:7: '.' does not belong here", true},
    {"{{1x}}", "t:1:3: this is no whole number", true},
    {"{{1234567890123456789}}", "t:1:3: this is no whole number", true},
    {"{{-}}", "t:1:3: this is no whole number", true},
    {"{{\"\\x\"}}", "t:1:4: behind a backslash comes n, t, \\ or \"", true},
    {"{{a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q}}", "t:1:3: this name is too long", true},
    {"{{nam}}", "t:1:3: unknown name 'nam'; did you mean 'name'?", false},
    {"{{#each rows}}\n{{im}}{{/each}}", "t:2:3: unknown name 'im'; did you mean 'in'?", false},
    {"{{nothing}}", "t:1:3: 'nothing' is missing or null here: ask with {{#if nothing}}", false},
    {"{{ deep.er.absent }}", "t:1:4: 'deep.er.absent' is missing or null here", false},
    {"{{list.3}}", "t:1:3: 'list.3' is missing or null here", false},
    {"{{list.x}}", "t:1:3: 'list.x' is missing", false},
    {"{{name.x}}", "t:1:3: 'name.x' is missing", false},
    {"{{absent|upper}}", "t:1:3: 'absent' is missing", false},
    {" {{list}}", "t:1:2: this is a list: go through it with {{#each}}, or print it with |json",
     false},
    {"{{deep}}", "t:1:1: this is an object", false},
    {"{{name|uper}}", "t:1:8: unknown filter 'uper'; did you mean 'upper'?", true},
    {"{{name|}}", "t:1:8: unknown filter ''", true},
    {"{{name|cut}}", "t:1:11: cut wants a number behind it: cut:2", true},
    {"{{name|default}}", "t:1:15: default wants a text behind it", true},
    {"{{name|cut:\"x\"}}", "t:1:12: cut wants a number here", true},
    {"{{name|cut:name}}", "t:1:12: cut wants a number here", false},
    {"{{name|cut:-1}}", "t:1:8: cut wants no negative number", false},
    {"{{name|cut:}}", "t:1:12: a name, a number or a \"text\" is missing here", true},
    {"{{name|fence:3}}", "t:1:14: fence wants a text here", true},
    {"{{name|fence:one}}", "t:1:14: fence wants a text here", false},
    {"{{name|upper:1}}", "t:1:13: upper takes no argument", true},
    {"{{name|fixed:2}}", "t:1:8: fixed wants a number", false},
    {"{{one|fixed:16}}", "t:1:7: fixed wants 0 to 15 decimals", false},
    {"{{name|indent:33}}", "t:1:8: indent wants an indentation from 0 to 32", false},
    {"{{name|json:99}}", "t:1:8: json wants an indentation", false},
    {"{{list|upper}}", "t:1:8: upper wants a text, not a list or an object", false},
    {"{{one|trim|trim|trim|trim|trim|trim|trim|trim|trim}}", "t:1:47: a value goes through 8",
     true},
    {"{{#if}}x{{/if}}", "t:1:6: a name, a number or a \"text\" is missing here", true},
    {"{{#if a b}}x{{/if}}", "t:1:9: 'b' does not belong here", true},
    {"{{#if !a == \"b\"}}x{{/if}}", "t:1:10: '== \"b\"' does not belong here", true},
    {"{{#if a ==}}x{{/if}}", "t:1:11: a name, a number or a \"text\" is missing here", true},
    {"{{#if a|trim}}x{{/if}}", "t:1:8: '|trim' does not belong here", true},
    {"a\n {{#if one}}\nb", "t:2:2: {{#if}} without its {{/if}}", true},
    {"{{#each list}}{{#if one}}{{/each}}", "t:1:26: there is no open block that {{/each}} could",
     true},
    {"{{#each list}}", "t:1:1: {{#each}} without its {{/each}}", true},
    {"{{#each list}}{{else}}{{/each}}", "t:1:15: there is no open block that {{else}} could", true},
    {"{{/if}}", "t:1:1: there is no open block that {{/if}} could end", true},
    {"{{else}}", "t:1:1: there is no open block that {{else}} could belong to", true},
    {"{{#if a}}{{else}}{{else}}{{/if}}", "t:1:18: there is no open block that {{else}}", true},
    {"{{#if a}}{{else b}}{{/if}}", "t:1:17: 'b' does not belong here", true},
    {"{{#if a}}{{/if a}}", "t:1:16: 'a' does not belong here", true},
    {"{{#each name}}{{/each}}", "t:1:1: {{#each}} wants a list", false},
    {"{{#unless a}}", "t:1:3: a name, a number or a \"text\" is wanted here, not '#'", true},
    {"{{>}}", "t:1:1: name a template behind the >", true},
    {"{{>nowhere}}", "t:1:4: unknown template 'nowhere'", false},
    {"{{>broken}}", "mine/broken.txt:2:3: {{#if}} without its {{/if}}", false},
    {"{{>nameless}}", "mine/nameless.txt:1:3: unknown name 'nmae'; did you mean 'name'?", false},
    {"{{>loops}}", "own/loops.txt:1:1: templates include each other more than 8 deep", false},
};

TEST(errors)
{
    for (size_t i = 0; i < COUNT(errors); i++) {
        struct buf out;
        struct err err = {0};
        buf_init(&out, 65536);
        int result = template_render("t", errors[i].text, values, &source, &out, &err);
        if (result == 0 || strncmp(err.text, errors[i].error, strlen(errors[i].error)) != 0)
            fail_msg("%s -> '%s', not '%s'", errors[i].text, result ? err.text : "no error",
                     errors[i].error);
        struct err checked = {0};
        if ((template_check("t", errors[i].text, &checked) < 0) != errors[i].checked)
            fail_msg("checked: %s -> '%s'", errors[i].text, checked.text);
        if (errors[i].checked)
            assert_string_equal(checked.text, err.text);
        buf_deinit(&out);
    }
}

TEST(without_a_finder)
{
    struct buf out;
    struct err err;
    buf_init(&out, 64);
    assert_int_equal(template_render("t", "{{>part}}", values, NULL, &out, &err), ERR_MISSING);
    assert_string_equal(err.text, "t:1:4: nothing can be included here");
    buf_deinit(&out);
}

TEST(output_is_bounded)
{
    static const char *const rows[] = {"0123456789{{name}}", "01234567890123456789",
                                       "{{#each list}}{{name}}{{name}}{{/each}}"};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct buf out;
        struct err err;
        buf_init(&out, 12);
        assert_int_equal(template_render("t", rows[i], values, NULL, &out, &err), ERR_LIMIT);
        assert_non_null(strstr(err.text, "longer than 12 bytes"));
        buf_deinit(&out);
    }
}

/* Loops in loops that print nothing end, too. */
TEST(work_is_bounded)
{
    json_t *object = json_object(), *list = json_array();
    for (int i = 0; i < 1000; i++)
        json_array_append_new(list, json_integer(0));
    json_put(object, "l", list);
    struct buf text, out;
    struct err err;
    buf_init(&text, 4096);
    buf_init(&out, 4096);
    for (int i = 0; i < 6; i++)
        buf_puts(&text, "{{#each l}}");
    for (int i = 0; i < 6; i++)
        buf_puts(&text, "{{/each}}");
    assert_int_equal(template_render("t", text.data, object, NULL, &out, &err), ERR_LIMIT);
    assert_non_null(strstr(err.text, "its loops go through more than"));
    buf_deinit(&text);
    buf_deinit(&out);
    json_decref(object);
}

TEST(nesting_is_bounded)
{
    for (int depth = 32; depth <= 33; depth++) {
        struct buf text;
        struct err err;
        buf_init(&text, 4096);
        for (int i = 0; i < depth; i++)
            buf_puts(&text, "{{#if one}}");
        for (int i = 0; i < depth; i++)
            buf_puts(&text, "{{/if}}");
        int result = template_check("t", text.data, &err);
        assert_int_equal(result, depth > 32 ? ERR_INPUT : 0);
        if (result < 0)
            assert_string_equal(err.text, "t:1:353: blocks are nested more than 32 deep");
        buf_deinit(&text);
    }
}
