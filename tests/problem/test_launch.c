#include "../support/test.h"
#include "problem/launch.h"

#include <stdio.h>

#define SIGNATURE "void solution(const float *x, float *y, float alpha, size_t rows, size_t cols)"

struct parsed {
    struct arena arena;
    struct signature signature;
    struct launch launch;
    struct launch_plan plan;
    uint32_t line;
    struct err err;
};

static int parse(struct parsed *parsed, const char *source, const char *fallback)
{
    uint32_t column;
    *parsed = (struct parsed){.line = 99};
    assert_int_equal(signature_parse(&parsed->arena, SIGNATURE, &parsed->signature, &column,
                                     &parsed->err),
                     0);
    return launch_parse(&parsed->arena, &parsed->signature, source, fallback, &parsed->launch,
                        &parsed->line, &parsed->err);
}

static int plan(struct parsed *parsed, const char *source, int64_t rows, int64_t cols)
{
    const int64_t sizes[] = {rows, cols};
    int result = parse(parsed, source, NULL);
    return result < 0 ? result
                      : launch_evaluate(&parsed->launch, sizes, &parsed->plan, &parsed->line,
                                        &parsed->err);
}

TEST(everything_in_a_line)
{
    static const char source[] =
        "#include <cmath>\n"
        "// scratch: sums bytes=4*rows\n"
        "//launch: first grid=(ceil_div(cols, 64), rows) block=(32, 8, 2) shared = 4 * cols "
        "args=(x, sums, int(cols), float(rows), min(rows, 7), alpha, y)\r\n"
        "\t// launch: second block=rows grid=(rows + 1) * 2\n"
        "__global__ void first();\n";
    struct parsed parsed;
    if (plan(&parsed, source, 10, 100) < 0)
        fail_msg("line %u: %s", parsed.line, parsed.err.text);
    const struct launch_call *call = &parsed.launch.calls[0];
    const struct launch_numbers *numbers = &parsed.plan.calls[0];
    static const struct {
        uint32_t source, index, bytes;
    } arguments[] = {{LAUNCH_PARAMETER, 0, 0}, {LAUNCH_SCRATCH, 0, 0}, {LAUNCH_VALUE, 0, 4},
                     {LAUNCH_VALUE, 0, 4},     {LAUNCH_VALUE, 0, 8},   {LAUNCH_PARAMETER, 2, 0},
                     {LAUNCH_PARAMETER, 1, 0}};
    float ten;
    assert_int_equal(parsed.launch.call_count, 2);
    assert_int_equal(parsed.launch.scratch_count, 1);
    assert_int_equal(parsed.plan.scratch_bytes[0], 40);
    assert_string_equal(call->kernel, "first");
    assert_int_equal(call->line, 3);
    assert_memory_equal(numbers->grid, ((uint32_t[]){2, 10, 1}), 12);
    assert_memory_equal(numbers->block, ((uint32_t[]){32, 8, 2}), 12);
    assert_int_equal(numbers->shared_bytes, 400);
    assert_int_equal(call->argument_count, 7);
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(call->arguments[i].source, arguments[i].source);
        assert_int_equal(call->arguments[i].index, arguments[i].index);
        assert_int_equal(call->arguments[i].bytes, arguments[i].bytes);
    }
    memcpy(&ten, &numbers->values[3], sizeof ten);
    assert_int_equal(numbers->values[2], 100);
    assert_true(ten == 10);
    assert_int_equal(numbers->values[4], 7);
    /* Without args: the signature's parameters. */
    call = &parsed.launch.calls[1];
    assert_int_equal(call->argument_count, 5);
    for (uint32_t i = 0; i < 5; i++)
        assert_true(call->arguments[i].source == LAUNCH_PARAMETER && call->arguments[i].index == i);
    assert_int_equal(parsed.plan.calls[1].grid[0], 22);
    assert_int_equal(parsed.plan.calls[1].block[0], 10);
    arena_deinit(&parsed.arena);
}

TEST(fallback)
{
    struct parsed parsed;
    assert_int_equal(parse(&parsed, "int x;\n", "grid=(rows) block=(64)"), 0);
    assert_string_equal(parsed.launch.calls[0].kernel, "solution");
    assert_int_equal(parsed.launch.calls[0].line, 0);
    arena_deinit(&parsed.arena);
    assert_int_equal(parse(&parsed, "// launch: mine grid=(1) block=(1)\n", "grid=(2) block=(2)"),
                     0);
    assert_string_equal(parsed.launch.calls[0].kernel, "mine");
    assert_int_equal(parsed.launch.call_count, 1);
    arena_deinit(&parsed.arena);
    assert_int_equal(parse(&parsed, "int x;\n", NULL), ERR_INPUT);
    assert_string_equal(parsed.err.text, "there is no launch line");
    arena_deinit(&parsed.arena);
}

/* Refused where it is read, or for rows=10 and cols=100, with the line. */
static const struct {
    const char *source;
    uint32_t line;
    const char *says;
} refused[] = {
    {"// launch: grid=(1) block=(1)", 1, "expected the name of a kernel, not 'grid=(1) block=(1)'"},
    {"\n// launch:", 2, "expected the name of a kernel, not ''"},
    {"// launch: k<3> grid=(1)", 1, "expected the name of a kernel"},
    {"// launch: k block=(1)", 1, "'grid=' is missing"},
    {"// launch: k grid=(1)", 1, "'block=' is missing"},
    {"// launch: k grid=(1) block=(1) and more", 1, "and more"},
    {"// launch: k grid block=(1)", 1, "expected key=value, not 'grid block=(1)'"},
    {"// launch: k grid=(1) block=(1) grid=(2)", 1, "'grid' stands there twice"},
    {"// launch: k grid=(1) block=(1) share=4", 1, "unknown key 'share'; did you mean 'shared'?"},
    {"// launch: k grid= block=(1)", 1, "grid: there is nothing behind the '='"},
    {"// launch: k grid=(1 block=(1)", 1, "grid: the parentheses do not match"},
    {"// launch: k grid=1) block=(1)", 1, "grid: the parentheses do not match"},
    {"// launch: k grid=(1, 1, 1, 1) block=(1)", 1, "grid: at most three numbers"},
    {"// launch: k grid=(1,) block=(1)", 1, "grid: '': ends too early"},
    {"// launch: k grid=(row) block=(1)", 1, "unknown name 'row'; did you mean 'rows'?"},
    {"// launch: k grid=(x) block=(1)", 1, "unknown name 'x'"},
    {"// launch: k grid=(1) block=(1) args=(z)", 1, "args: 'z': unknown name 'z'"},
    {"// launch: k grid=(1) block=(1) args=(int(x))", 1, "args: 'x': unknown name 'x'"},
    {"// launch: k grid=(1) block=(1) args=(char(rows))", 1, "unknown function 'char'"},
    {"// launch: k grid=(1) block=(1) args=(sums)\n// scratch: sums bytes=4", 1, "'sums'"},
    {"// launch: k grid=(1) block=(1)\n// scratch: sums bytes=4", 2,
     "scratch lines come before launch lines"},
    {"// scratch: x bytes=4", 1, "'x' means something else already"},
    {"// scratch: a bytes=4\n// scratch: a bytes=4", 2, "'a' means something else already"},
    {"// scratch: min bytes=4", 1, "'min' means something else already"},
    {"// scratch: a", 1, "expected key=value"},
    {"// scratch: a byte=4", 1, "unknown key 'byte'; did you mean 'bytes'?"},
    {"// launch: k grid=(rows - 10) block=(1)", 1,
     "grid: rows - 10 is 0 here, and must be a whole number from 1 to 2147483647"},
    {"// launch: k grid=(rows / 4) block=(1)", 1, "grid: rows / 4 is 2.5 here"},
    {"// launch: k grid=(1, 65536) block=(1)", 1, "grid: 65536 is 65536 here"},
    {"// launch: k grid=(1 // (rows - 10)) block=(1)", 1, "grid: 1 // (rows - 10) is nan here"},
    {"// launch: k grid=(1) block=(1025)", 1, "block: 1025 is 1025 here"},
    {"// launch: k grid=(1) block=(32, 33)", 1, "block: 32 x 33 x 1 are more than 1024 threads"},
    {"// launch: k grid=(1) block=(1, 1, 65)", 1, "block: 65 is 65 here"},
    {"// launch: k grid=(1) block=(1) shared=-1", 1, "shared: -1 is -1 here"},
    {"// launch: k grid=(1) block=(1) shared=300000", 1, "shared: 300000 is 300000 here"},
    {"// launch: k grid=(1) block=(1) args=(int(rows*1000000000))", 1, "int: rows*1000000000 is"},
    {"// launch: k grid=(1) block=(1) args=(unsigned(rows - 11))", 1, "unsigned: rows - 11 is -1"},
    {"// scratch: a bytes=rows - 10\n// launch: k grid=(1) block=(1)", 1, "bytes: rows - 10 is 0"},
};

TEST(refused)
{
    for (size_t i = 0; i < COUNT(refused); i++) {
        struct parsed parsed;
        int result = plan(&parsed, refused[i].source, 10, 100);
        if (result != ERR_INPUT || parsed.line != refused[i].line ||
            !strstr(parsed.err.text, refused[i].says))
            fail_msg("%s: %d, line %u: %s", refused[i].source, result, parsed.line,
                     parsed.err.text);
        arena_deinit(&parsed.arena);
    }
}

TEST(bounds)
{
    char text[LAUNCH_LINE_BYTES + 64];
    static const char one[] = "// launch: k grid=(1) block=(1)\n";
    char lines[sizeof one * (LAUNCH_CALLS + 1)] = "";
    struct parsed parsed;
    snprintf(text, sizeof text, "// launch: k grid=(1)%*s block=(1)", LAUNCH_LINE_BYTES, "");
    assert_int_equal(parse(&parsed, text, NULL), ERR_INPUT);
    assert_non_null(strstr(parsed.err.text, "longer than"));
    arena_deinit(&parsed.arena);
    for (int i = 0; i <= LAUNCH_CALLS; i++)
        memcpy(lines + (size_t)i * (sizeof one - 1), one, sizeof one);
    assert_int_equal(parse(&parsed, lines, NULL), ERR_INPUT);
    assert_int_equal(parsed.line, LAUNCH_CALLS + 1);
    arena_deinit(&parsed.arena);
    size_t used = (size_t)snprintf(text, sizeof text, "// launch: k grid=(1) block=(1) args=(1");
    for (int i = 0; i < LAUNCH_ARGUMENTS; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, ", 1");
    snprintf(text + used, sizeof text - used, ")");
    assert_int_equal(parse(&parsed, text, NULL), ERR_INPUT);
    assert_non_null(strstr(parsed.err.text, "args: more than"));
    arena_deinit(&parsed.arena);
}

static const struct {
    const char *source, *fallback;
    bool wanted;
} kinds[] = {
    {"// launch: k grid=(1) block=(1)\n__global__ void k() {}", NULL, true},
    {"__global__ void k() {}", NULL, false},
    {"__global__ void solution(float *x) {}", NULL, false},
    {"__global__ void solution(float *x) {}", "grid=(1) block=(1)", true},
    {"__global__ static void\nsolution (float *x) {}", "grid=(1) block=(1)", true},
    {"__global__ void k() {}\nextern \"C\" void solution(float *x) {}", "grid=(1) block=(1)",
     false},
    {"// launch: one block a row\nextern \"C\" void solution(float *x) {}", NULL, false},
    {"// launch: k grid=(1) block=(1)\n// solution(x) is what it computes\n"
     "const char *s = \"solution(\\\"\"; /* solution(y) */ char c = '\"';\n"
     "__global__ void k() {}",
     NULL, true},
    {"// launch: k grid=(1) block=(1)\n__global__ void k();\nvoid solution(float *x);", NULL,
     false},
    {"// launched", NULL, false},
    {"/* unended", NULL, false},
    {"\"unended", NULL, false},
    {"", "grid=(1) block=(1)", false},
};

TEST(which_sources)
{
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (launch_wanted(kinds[i].source, kinds[i].fallback) != kinds[i].wanted)
            fail_msg("%s", kinds[i].source);
}
