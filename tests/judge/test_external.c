/* What a language's file may say, and how languages from outside stand beside ours. */
#include "../support/test.h"
#include "judge/request/external_language.h"

static int parse(struct language *language, struct arena *arena, const char *text, struct err *err)
{
    return external_parse(language, arena, "l.yaml", "/home", text, strlen(text), err);
}

static bool has(const char *const *words, const char *word)
{
    for (; *words; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

TEST(taken)
{
    struct arena arena = {0};
    struct language language;
    struct err err = {0};
    if (parse(
            &language, &arena,
            "name: zig\nendings: [.zig, .zg]\nrun: [./child, -v]\ncompile: [/usr/bin/zig, build]\n"
            "readable: [./lib, /opt/zig]\nenvironment: {A: 1, B: \"x y\"}\n",
            &err) < 0)
        fail_msg("%s", err.text);
    const struct external *external = language.external;
    assert_string_equal(language.name, "zig");
    assert_string_equal(language.file, "candidate.zig");
    assert_string_equal(language.endings[1], ".zg");
    assert_null(language.endings[2]);
    assert_int_equal(language.format, PROBLEM_NATIVE);
    assert_false(language.gpu);
    assert_string_equal(external->run[0], "/home/child");
    assert_string_equal(external->run[1], "-v");
    assert_null(external->run[2]);
    assert_string_equal(external->compile[0], "/usr/bin/zig");
    static const char *const readable[] = {"/home/child", "/usr/bin/zig", "/home/lib", "/opt/zig",
                                           "/usr/lib"};
    for (size_t i = 0; i < COUNT(readable); i++)
        assert_true(has(external->readable, readable[i]));
    assert_true(has(external->environment, "A=1"));
    assert_true(has(external->environment, "B=x y"));
    assert_true(has(external->environment, "LC_ALL=C.UTF-8"));
    assert_int_equal(parse(&language, &arena, "name: a\nendings: [.a]\nrun: [/bin/a]\n", &err), 0);
    assert_null(language.external->compile);
    arena_deinit(&arena);
}

#define NAME "name: zig\n"
#define ENDINGS "endings: [.zig]\n"
#define RUN "run: [./child]\n"

TEST(refused)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", ""},
        {"[]", "1:1"},
        {NAME ENDINGS, "the key 'run' is missing"},
        {NAME RUN, "the key 'endings' is missing"},
        {ENDINGS RUN, "the key 'name' is missing"},
        {"name: cuda\n" ENDINGS RUN, "1:7: 'cuda' is one of warpgym's own"},
        {"name: a/b\n" ENDINGS RUN, "1:7: a name is"},

        {"name: \n" ENDINGS RUN, "name has no value"},
        {"name: []\n" ENDINGS RUN, "1:7"},
        {NAME "endings: []\n" RUN, "2:10"},
        {NAME "endings: .zig\n" RUN, "2:10"},
        {NAME "endings: [zig]\n" RUN, "like .cl, not 'zig'"},
        {NAME "endings: [.tar.gz]\n" RUN, "like .cl"},
        {NAME "endings: [.c]\n" RUN, ".c is a file of"},
        {NAME "endings: [.cuh]\n" RUN, ".cuh is a file of"},
        {NAME "endings: [.a,.b,.d,.e,.f,.g,.h,.i,.j]\n" RUN, "8 endings are the most"},
        {NAME ENDINGS "run: []\n", "3:6"},
        {NAME ENDINGS "run: [child]\n", "3:7: 'child' must be an absolute path"},
        {NAME ENDINGS "run: [../child]\n", "must be an absolute path"},
        {NAME ENDINGS "run: [[a]]\n", "3:7"},
        {NAME ENDINGS RUN "compile: [zig]\n", "4:11"},
        {NAME ENDINGS RUN "readable: [lib]\n", "4:12"},
        {NAME ENDINGS RUN "readable: lib\n", "4:11"},
        {NAME ENDINGS RUN "environment: [A]\n", "4:14"},
        {NAME ENDINGS RUN "environment: {A=B: 1}\n", "no name of a variable"},
        {NAME ENDINGS RUN "environment: {A: [1]}\n", "4:18"},
        {NAME ENDINGS RUN "readible: 1\n", "did you mean"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct arena arena = {0};
        struct language language;
        struct err err = {0};
        if (parse(&language, &arena, rows[i].text, &err) != ERR_INPUT ||
            strncmp(err.text, "l.yaml", 6) != 0 || !strstr(err.text, rows[i].says))
            fail_msg("%s: %d %s", rows[i].text, err.code, err.text);
        arena_deinit(&arena);
    }
}

TEST(beside_ours)
{
    static const struct language row = {.name = "zig",
                                        .file = "candidate.zig",
                                        .endings = {".zig", ".zg"}};
    struct languages languages = {.rows = &row, .count = 1};
    static const struct {
        const char *path, *text, *language;
        bool source;
    } rows[] = {
        {"a.zig", "fn f() void {}", "zig", true},
        {"a.zg", "__global__", "zig", true},
        {"zig", "int a;", "c", false},
        {"a.c", "int a;", "c", true},
        {"a.py", "import torch", "python", true},
        {"a.zig.txt", "int a;", "c", false},
        {"a.cu", "int a;", "cuda", true},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_string_equal(language_of(&languages, rows[i].path, rows[i].text)->name,
                            rows[i].language);
        assert_int_equal(language_has_ending(&languages, rows[i].path), rows[i].source);
    }
    assert_null(language_named("zig"));
    assert_true(language_owns(NULL, ".py"));
    assert_false(language_owns(NULL, ".zig"));
}
