#include "judge/verdict.h"

#include "../support/test.h"
#include "../support/verdicts.h"
#include "base/buf.h"
#include "base/json.h"
#include "judge/verdict_schema.h"
#include "sandbox/sandbox.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

static struct verdict verdict;

FIXTURE(begin)
{
    verdict_init(&verdict);
    return 0;
}

FIXTURE(end)
{
    verdict_deinit(&verdict);
    return 0;
}

TEST_EACH(begin, end);

/* The value at "a.b.0.c", borrowed. */
static const json_t *at(const json_t *json, const char *path)
{
    char part[64];
    while (json && *path) {
        size_t length = strcspn(path, ".");
        assert_true(length < sizeof part);
        memcpy(part, path, length);
        part[length] = '\0';
        json = json_is_array(json) ? json_array_get(json, (size_t)(part[0] - '0'))
                                   : json_object_get(json, part);
        path += length + (path[length] == '.');
    }
    return json;
}

/* `expected`: JSON with ' in place of ". */
static void assert_at(const json_t *json, const char *path, const char *expected)
{
    char text[512];
    assert_true((size_t)snprintf(text, sizeof text, "%s", expected) < sizeof text);
    for (char *quote = text; (quote = strchr(quote, '\''));)
        *quote = '"';
    json_t *wanted = json_loads(text, JSON_DECODE_ANY, NULL);
    const json_t *got = at(json, path);
    assert_non_null(wanted);
    if (!json_equal(got, wanted))
        fail_msg("%s is %s instead of %s", path, json_dumps(got, JSON_ENCODE_ANY), text);
    json_decref(wanted);
}

static void fill_verdict(void)
{
    verdict.problem_id = "softmax";
    verdict.problem_format = "native";
    verdict.problem_hash = "p";
    verdict.candidate_path = "a/b.c";
    verdict.candidate_language = "c";
    memcpy(verdict.candidate_hash, "cc", 3);
    verdict.layers = (1U << SANDBOX_LAYER_COUNT) - 1 - (1U << LAYER_LANDLOCK);
    verdict.compiled = verdict.correct = true;
    verdict.trials = 5;
    verdict.trials_passed = 4;
    verdict.max_absolute = 0.5;
    verdict.max_relative = 0.25;
    verdict.mismatch = (struct mismatch){.any = true,
                                         .output = "y",
                                         .index = 7,
                                         .got = 1,
                                         .expected = 2,
                                         .looks = "the size of TF32"};
    verdict.case_count = 1;
    verdict.cases[0] =
        (struct timed_case){.sizes = "n=1",
                            .candidate = {.n = 9, .median = 2, .quartile1 = 1, .quartile3 = 3},
                            .reference = {.n = 9, .median = 4, .quartile1 = 3, .quartile3 = 5},
                            .speedup = {.value = 2, .low = 1.5, .high = 2.5, .n = 9},
                            .floor_ms = 0.5};
    verdict.dispatch_overhead_us = 12;
    verdict.kernel_count = 1;
    verdict.kernels[0] =
        (struct kernel_share){.name = "solution", .launches = 1, .time_us = 2000, .own = true};
    verdict.own_time_fraction = verdict.own_launch_fraction = 1;
    verdict.peak_memory_bytes = 4096;
    verdict.reference_ms = 40;
    verdict.candidate_ms = 20;
    for (int i = 0; i < STAGE_COUNT; i++)
        verdict.stages_ms[i] = i;
}

/* Every field of docs/reference/verdict.md, under its name. */
TEST(shape)
{
    fill_verdict();
    json_t *json = verdict_json(&verdict);
    size_t present = 0;
    for (size_t i = 0; i < verdict_shape.count; i++) {
        const struct verdict_field *field = &verdict_shape.fields[i];
        bool optional = field->flags & FIELD_OPTIONAL;
        if (!json_object_get(json, field->key) != optional)
            fail_msg("%s is %s", field->key, optional ? "there" : "missing");
        present += !optional;
    }
    assert_int_equal(json_object_size(json), present);
    assert_at(json, "schema", "1");
    assert_int_equal(strlen(json_string_value(at(json, "id"))), 32);
    assert_at(json, "problem", "{'id': 'softmax', 'format': 'native', 'hash': 'p'}");
    assert_at(json, "candidate", "{'path': 'a/b.c', 'language': 'c', 'hash': 'cc'}");
    assert_at(json, "device", "'cpu'");
    assert_at(json, "status", "'passed'");
    assert_true(json_is_true(at(json, "compiled")) && json_is_true(at(json, "correct")));
    assert_int_equal(json_array_size(at(json, "environment.sandbox.layers")),
                     SANDBOX_LAYER_COUNT - 1);
    assert_at(json, "environment.sandbox.missing", "['Landlock']");
    assert_at(json, "error", "null");
    json_decref(json);
}

TEST(nothing_is_missing_around_what_never_ran)
{
    fill_verdict();
    verdict.layers = 0;
    json_t *json = verdict_json(&verdict);
    assert_at(json, "environment.sandbox", "{'layers': [], 'missing': []}");
    json_decref(json);
}

/* A limit is named only while the layer that it belongs to is missing. */
TEST(missing_limits)
{
    uint32_t all = (1U << SANDBOX_LAYER_COUNT) - 1;
    uint32_t failed = SANDBOX_LIMIT_FAILED(LIMIT_CORE) | SANDBOX_LIMIT_FAILED(LIMIT_ADDRESS_SPACE);
    fill_verdict();
    verdict.layers = (all & ~(1U << LAYER_LIMITS)) | failed;
    json_t *json = verdict_json(&verdict);
    assert_int_equal(json_array_size(at(json, "environment.sandbox.layers")),
                     SANDBOX_LAYER_COUNT - 1);
    assert_at(json, "environment.sandbox.missing",
              "['resource limits', 'resource limit: core dumps', 'resource limit: address space']");
    json_decref(json);
    verdict.layers = all | failed;
    json = verdict_json(&verdict);
    assert_at(json, "environment.sandbox.missing", "[]");
    json_decref(json);
}

TEST(numbers)
{
    static const struct {
        const char *path, *value;
    } rows[] = {
        {"correctness",
         "{'trials': 5, 'passed': 4, 'max_absolute_error': 0.5, 'max_relative_error': 0.25, "
         "'first_mismatch': {'output': 'y', 'index': 7, 'got': 1.0, 'expected': 2.0, "
         "'looks_like': 'the size of TF32'}}"},
        {"timing.candidate", "{'median': 2.0, 'quartiles': [1.0, 3.0], 'n': 9}"},
        {"timing.reference", "{'median': 4.0, 'quartiles': [3.0, 5.0], 'n': 9}"},
        {"timing.speedup", "2.0"},
        {"timing.speedup_interval", "[1.5, 2.5]"},
        {"timing.roofline_fraction", "0.25"},
        {"timing.dispatch_overhead_us", "12.0"},
        {"profile",
         "{'kernels': [{'name': 'solution', 'launches': 1, 'time_us': 2000.0, 'own': true}], "
         "'own_time_fraction': 1.0, 'own_launch_fraction': 1.0, 'memory': {'peak_bytes': 4096}}"},
        {"stages_ms", "{'queue': 0.0, 'compile': 1.0, 'load': 2.0, 'check': 3.0, 'time': 4.0, "
                      "'profile': 5.0, 'other': 6.0}"},
        {"calls_ms", "{'reference': 40.0, 'candidate': 20.0}"},
    };
    fill_verdict();
    json_t *json = verdict_json(&verdict);
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_at(json, rows[i].path, rows[i].value);
    assert_null(at(json, "timing.cases")); /* one case is the summary */
    json_decref(json);
}

/* Of a GPU alone; an unknown value is null, never a number. */
TEST(clocks)
{
    fill_verdict();
    json_t *json = verdict_json(&verdict);
    assert_at(json, "timing.clocks", "null");
    json_decref(json);
    verdict.clocks = (struct gpu_watch){
        .known = true,
        .before = {.sm_mhz = 1980},
        .after = {.sm_mhz = 1700, .sm_max_mhz = -1, .memory_mhz = 3201, .power_w = 612.5},
        .sm_lowest_mhz = 1650,
        .reasons = 0x24,
    };
    json = verdict_json(&verdict);
    assert_at(json, "timing.clocks",
              "{'sm_mhz': [1980, 1700], 'sm_lowest_mhz': 1650, 'sm_max_mhz': null, "
              "'memory_mhz': 3201, 'temperature_c': 0, 'power_w': 612.5, "
              "'throttled': ['software power cap', 'software thermal slowdown']}");
    json_decref(json);
}

/* A verdict that came to nothing has every field as well, and is a line that can be read. */
TEST(empty)
{
    struct buf line;
    json_t *again;
    verdict_fail(&verdict, STATUS_INFRASTRUCTURE_ERROR, "io", "no disk", NULL);
    json_t *json = verdict_json(&verdict);
    assert_at(json, "status", "'infrastructure_error'");
    assert_at(json, "timing", "null");
    assert_at(json, "correctness.first_mismatch", "null");
    assert_at(json, "profile.own_time_fraction", "null");
    assert_at(json, "error", "{'class': 'io', 'message': 'no disk', 'excerpt': null}");
    assert_at(json, "integrity.violations", "[]");
    buf_init(&line, 1 << 20);
    assert_int_equal(json_line_write(json, &line, NULL), 0);
    assert_int_equal(json_parse("line", line.data, line.len, &again, NULL), 0);
    assert_true(json_equal(json, again));
    json_decref(again);
    json_decref(json);
    buf_deinit(&line);
}

TEST(not_finite)
{
    static const double values[] = {NAN, INFINITY, -INFINITY};
    static const char *const paths[] = {"correctness.max_absolute_error",
                                        "correctness.first_mismatch.got",
                                        "correctness.first_mismatch.expected",
                                        "timing.candidate.median",
                                        "timing.speedup_interval.1",
                                        "timing.dispatch_overhead_us",
                                        "profile.kernels.0.time_us",
                                        "profile.own_launch_fraction",
                                        "stages_ms.check"};
    for (size_t v = 0; v < COUNT(values); v++) {
        fill_verdict();
        verdict.max_absolute = verdict.mismatch.got = verdict.mismatch.expected = values[v];
        verdict.cases[0].candidate.median = verdict.cases[0].speedup.high = values[v];
        verdict.dispatch_overhead_us = verdict.kernels[0].time_us = values[v];
        verdict.own_launch_fraction = verdict.stages_ms[STAGE_CHECK] = values[v];
        json_t *json = verdict_json(&verdict);
        for (size_t i = 0; i < COUNT(paths); i++)
            assert_at(json, paths[i], "null");
        assert_at(json, "timing.speedup_interval.0", "1.5");
        json_decref(json);
    }
}

/* What a candidate wrote need not be UTF-8, and is shown all the same. */
TEST(strange_text)
{
    verdict_fail(&verdict, STATUS_RUNTIME_ERROR, "runtime_error", "caf\xc3\xa9 \xff\xfe end",
                 "line\nquote \" and \x01 byte \x80");
    verdict_warning(&verdict, "H41", "%s", "\xc3(");
    json_t *json = verdict_json(&verdict);
    const char *message = json_string_value(at(json, "error.message"));
    const char *excerpt = json_string_value(at(json, "error.excerpt"));
    assert_true(message && strncmp(message, "caf\xc3\xa9 ", 6) == 0 && strstr(message, " end"));
    assert_true(excerpt && strstr(excerpt, "quote \" and ? byte ?"));
    assert_non_null(json_string_value(at(json, "integrity.warnings.0.evidence")));
    json_decref(json);
}

/* A part is what stands at its path in the whole. */
/* What a candidate printed becomes text, whole characters of it. */
TEST(output)
{
    static const struct {
        const char *bytes;
        size_t count, most;
        uint64_t written;
        const char *text; /* NULL: none */
        uint64_t cut_bytes;
    } rows[] = {
        {"n = 3\n", 6, 99, 6, "n = 3\n", 0},
        {"n = 3\n", 6, 4, 6, "n = ", 2},
        {"n = 3\n", 6, 4, 60000, "n = ", 59996},
        {"a\0b\0", 4, 99, 4, "a?b?", 0},
        {"\x1b[31m\r\n\tx", 9, 99, 9, "?[31m?\n x", 0},
        {"\xff\xc3\xa9\xe2\x80\xae", 6, 99, 6, "?\xc3\xa9???", 0},
        {"a\xc3\xa9", 3, 2, 3, "a", 2},
        {"\xc3\xa9", 2, 1, 2, NULL, 2},
        {"abc", 3, 0, 3, NULL, 3},
        {"", 0, 99, 0, NULL, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        verdict_output(&verdict, rows[i].bytes, rows[i].count, rows[i].most, rows[i].written);
        if (rows[i].text)
            assert_string_equal(verdict.output, rows[i].text);
        else
            assert_null(verdict.output);
        assert_int_equal(verdict.output_cut_bytes, rows[i].cut_bytes);
        json_t *json = verdict_json(&verdict);
        assert_int_equal(json_object_get(json, "output") != NULL, rows[i].text != NULL);
        json_decref(json);
    }
}

TEST(parts)
{
    static const char *const paths[] = {"device",
                                        "timing.candidate",
                                        "timing.clocks.sm_mhz",
                                        "profile.kernels",
                                        "integrity",
                                        "cases.failed",
                                        "error"};
    fill_verdict();
    json_t *whole = verdict_json(&verdict);
    for (size_t i = 0; i < COUNT(paths); i++) {
        const json_t *wanted = at(whole, paths[i]);
        json_t *part = verdict_json_at(&verdict, paths[i]);
        if (wanted ? !json_equal(part, wanted) : !json_is_null(part))
            fail_msg("%s", paths[i]);
        json_decref(part);
    }
    json_decref(whole);
}

/* Back into a verdict that has other parts already. */
TEST(read_at)
{
    static const struct {
        const char *key, *text;
        const char *why; /* NULL: it is read */
    } rows[] = {
        {"problem_audit",
         "{\"outcome\": \"gameable\", \"reason\": null, \"took_ms\": 2, \"attempts\": [{\"code\": "
         "\"H07\", \"attempt\": \"zeros\", \"gain\": null}]}",
         NULL},
        {"problem_audit", "{\"outcome\": \"sound\"}", "'problem_audit.reason' is missing"},
        {"problem_audit", "[]", "'problem_audit' must be an object"},
        {"audit", "{}", "'audit' is not a field of a verdict"},
    };
    fill_verdict();
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        json_t *value = json_loads(rows[i].text, 0, NULL);
        int result = verdict_read_at(value, rows[i].key, &verdict, &err);
        json_decref(value);
        if ((result < 0) != (rows[i].why != NULL) ||
            (rows[i].why && strcmp(err.text, rows[i].why) != 0))
            fail_msg("%s: %s", rows[i].text, err.text);
        if (rows[i].why)
            continue;
        assert_int_equal(verdict.audit.outcome, AUDIT_GAMEABLE);
        assert_int_equal(verdict.audit.count, 1);
        assert_string_equal(verdict.audit.attempts[0].name, "zeros");
        assert_true(isnan(verdict.audit.attempts[0].gain) && !verdict.audit.reason);
        assert_string_equal(verdict.problem_id, "softmax"); /* as it was */
    }
}

TEST(first_error)
{
    char message[] = "first";
    verdict_fail(&verdict, STATUS_WRONG, "wrong", message, "");
    message[0] = 'X'; /* it keeps a copy */
    verdict_fail(&verdict, STATUS_TIMEOUT, "timeout", "second", "more");
    verdict_violation(&verdict, "H21", "late");
    assert_int_equal(verdict.status, STATUS_WRONG);
    assert_string_equal(verdict.error_class, "wrong");
    assert_string_equal(verdict.error_message, "first");
    assert_null(verdict.error_excerpt);           /* an empty one is none */
    assert_int_equal(verdict.violation_count, 1); /* found is found */
}

TEST(findings)
{
    verdict_warning(&verdict, "H41", "warned of %d", 1);
    verdict_warning(&verdict, "H41", "warned of %d", 2);
    verdict_violation(&verdict, "H50", "spoke %d times", 3);
    verdict_violation(&verdict, "H50", "spoke %d times", 4);
    verdict_violation(&verdict, "H21", "late");
    assert_int_equal(verdict.warning_count, 1);
    assert_int_equal(verdict.violation_count, 2);
    assert_int_equal(verdict.status, STATUS_VIOLATION);
    json_t *json = verdict_json(&verdict);
    assert_at(json, "status", "'violation'");
    assert_at(json, "error", "{'class': 'violation', 'message': 'spoke 3 times', 'excerpt': null}");
    assert_at(json, "integrity",
              "{'violations': [{'code': 'H50', 'evidence': 'spoke 3 times'}, "
              "{'code': 'H21', 'evidence': 'late'}], "
              "'warnings': [{'code': 'H41', 'evidence': 'warned of 1'}]}");
    json_decref(json);
}

/* A flood of codes and text is cut, and is a violation still. */
TEST(flood)
{
    char code[16];
    char text[2000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    for (int i = 0; i < 3 * VERDICT_FINDINGS; i++) {
        snprintf(code, sizeof code, "H%02d", i);
        verdict_violation(&verdict, code, "%s", text);
        verdict_warning(&verdict, code, "%s", text);
    }
    assert_int_equal(verdict.violation_count, VERDICT_FINDINGS);
    assert_int_equal(verdict.warning_count, VERDICT_FINDINGS);
    assert_int_equal(verdict.status, STATUS_VIOLATION);
    assert_in_range(strlen(verdict.violations[0].evidence), 400, 600);
}

TEST(speedup)
{
    struct interval speedup;
    verdict_speedup(&verdict, &speedup);
    assert_true(isnan(speedup.value) && speedup.n == 0 && speedup.low == 0 && isinf(speedup.high));
    verdict.case_count = 2;
    verdict.cases[0].speedup = (struct interval){.value = 2, .low = 1, .high = 4, .n = 5};
    verdict.cases[1].speedup = (struct interval){.value = 8, .low = 4, .high = 16, .n = 7};
    verdict_speedup(&verdict, &speedup);
    assert_true(fabs(speedup.value - 4) < 1e-12 && fabs(speedup.low - 2) < 1e-12 &&
                fabs(speedup.high - 8) < 1e-12);
    assert_int_equal(speedup.n, 12);
    json_t *json = verdict_json(&verdict);
    assert_true(fabs(json_number_value(at(json, "timing.speedup")) - 4) < 1e-12);
    assert_at(json, "timing.cases.1.speedup", "8.0");
    assert_int_equal(json_array_size(at(json, "timing.cases")), 2);
    assert_at(json, "timing.cases.0.roofline_fraction", "null"); /* no floor is known */
    json_decref(json);
}

TEST(a_note_alone)
{
    verdict.timing_note = "not asked for";
    json_t *json = verdict_json(&verdict);
    assert_at(json, "timing.note", "'not asked for'");
    assert_null(at(json, "timing.speedup"));
    json_decref(json);
}

TEST_WITH(status_names, NULL, NULL)
{
    static const char *const names[] = {"passed",        "wrong",
                                        "compile_error", "load_error",
                                        "runtime_error", "timeout",
                                        "out_of_memory", "violation",
                                        "unsupported",   "infrastructure_error",
                                        "cancelled"};
    assert_int_equal(STATUS_COUNT, COUNT(names));
    for (int i = 0; i < STATUS_COUNT; i++)
        assert_string_equal(verdict_status_name((enum verdict_status)i), names[i]);
    assert_string_equal(verdict_status_name(STATUS_COUNT), "unknown");
    for (int i = 0; i < STATUS_COUNT; i++)
        assert_int_equal(verdict_status_named(names[i]), i);
    assert_int_equal(verdict_status_named("sunny"), STATUS_COUNT);
    assert_int_equal(verdict_status_named(NULL), STATUS_COUNT);
}

TEST(ids)
{
    struct verdict other;
    verdict_init(&other);
    assert_string_not_equal(verdict.id, other.id);
    verdict_deinit(&other);
}

static void assert_same(const json_t *one, const json_t *other)
{
    if (json_equal(one, other))
        return;
    char *a = json_dumps(one, JSON_INDENT(1)), *b = json_dumps(other, JSON_INDENT(1));
    fail_msg("%s\ninstead of\n%s", b, a);
}

/* Written, read as a line of text, and written again: the same JSON. */
static void round_trip(const struct verdict *from)
{
    struct verdict back;
    struct buf line;
    struct err err = {0};
    json_t *again, *json = verdict_json(from);
    buf_init(&line, 1 << 20);
    assert_int_equal(json_line_write(json, &line, &err), 0);
    assert_int_equal(json_parse("line", line.data, line.len, &again, &err), 0);
    assert_ok(verdict_read(again, &back, &err), &err);
    json_t *written = verdict_json(&back);
    assert_same(json, written);
    json_decref(written);
    verdict_deinit(&back);
    json_decref(again);
    json_decref(json);
    buf_deinit(&line);
}

static void fill_trace(void)
{
    verdict.kernels[0].source = "";
    verdict.kernels[0].streams = 1;
    verdict.kernels[0].registers = 32;
    verdict.kernels[0].local_bytes = 16;
    verdict.kernels[0].shared_bytes = 1024;
    verdict.kernels[0].grid[0] = verdict.kernels[0].block[2] = 7;
    verdict.kernels[0].occupancy = 0.5;
    verdict.kernels[0].limit = "registers";
    verdict.kernels[1] = (struct kernel_share){
        .name = "[memset]", .launches = 3, .source = "/lib/x.so", .copy = true, .limit = ""};
    verdict.kernel_count = 2;
    verdict.launched = (struct launch_totals){.calls = 3,
                                              .kernels = 2,
                                              .own_kernels = 1,
                                              .streams = 2,
                                              .launches = 8,
                                              .own_launches = 4,
                                              .time_us = 2000.5,
                                              .own_time_us = 1000.25,
                                              .busy_us = 1500,
                                              .call_us = 700};
}

TEST_WITH(round_trip, begin, end)
{
    round_trip(&verdict);
    fill_verdict();
    round_trip(&verdict);
    verdict.layers = SANDBOX_LIMIT_FAILED(LIMIT_CORE) | 1;
    verdict.cases_from = "inline";
    verdict.case_total = 3;
    verdict.cases_compared = 2;
    verdict.failed_case = "case 2";
    verdict.extensions = 2;
    verdict.extensions_slim = 1;
    verdict.build_cached = true;
    verdict.timing_note = "it is what it is";
    verdict.clocks = (struct gpu_watch){.known = true,
                                        .before = {.sm_mhz = 1980},
                                        .after = {.sm_mhz = -1, .sm_max_mhz = 5, .power_w = 612.5},
                                        .reasons = 0x24};
    fill_trace();
    verdict_warning(&verdict, "H41", "warned");
    verdict_violation(&verdict, "H21", "late");
    verdict_output(&verdict, "printed\n", 8, 8, 99);
    round_trip(&verdict);
    verdict.case_count = VERDICT_CASES;
    for (int i = 1; i < VERDICT_CASES; i++)
        verdict.cases[i] = verdict.cases[0];
    verdict.cases[1].sizes = NULL;
    verdict.cases[2].floor_ms = 0;
    verdict.cases[3].speedup = (struct interval){.value = NAN, .low = 0, .high = INFINITY};
    round_trip(&verdict);
}

TEST_WITH(read_members, begin, end)
{
    struct verdict back;
    fill_verdict();
    fill_trace();
    verdict_fail(&verdict, STATUS_TIMEOUT, "timeout", "too slow", NULL);
    json_t *json = verdict_json(&verdict);
    assert_int_equal(verdict_read(json, &back, NULL), 0);
    assert_string_equal(back.id, verdict.id);
    assert_string_equal(back.problem_id, "softmax");
    assert_string_equal(back.candidate_hash, "cc");
    assert_int_equal(back.status, STATUS_TIMEOUT);
    assert_int_equal(back.layers, verdict.layers);
    assert_true(back.compiled && back.mismatch.any && back.timing_meaningful);
    assert_int_equal(back.mismatch.index, 7);
    assert_int_equal(back.case_count, 1);
    assert_int_equal(back.cases[0].candidate.n, 9);
    assert_true(back.cases[0].candidate.quartile3 == 3 && back.cases[0].speedup.high == 2.5 &&
                back.cases[0].floor_ms == 0.5);
    assert_int_equal(back.kernel_count, 2);
    assert_true(!back.kernels[0].copy && back.kernels[1].copy);
    assert_int_equal(back.kernels[0].block[2], 7);
    assert_int_equal(back.launched.own_kernels, 1);
    assert_true(back.stages_ms[STAGE_OTHER] == 6 && back.candidate_ms == 20);
    assert_string_equal(back.error_message, "too slow");
    assert_null(back.error_excerpt);
    verdict_deinit(&back);
    json_decref(json);
}

/* A verdict of a single part, which is as it was, and of what must be beside it. */
TEST(read_part)
{
    struct verdict back;
    verdict_of("{\"status\": \"wrong\", \"error\": {\"message\": \"no\"}, \"environment\": "
               "{\"sandbox\": {\"layers\": [\"a new one\", \"Landlock\"]}}}",
               &back);
    assert_int_equal(back.status, STATUS_WRONG);
    assert_string_equal(back.id, "");
    assert_string_equal(back.error_class, "");
    assert_string_equal(back.error_message, "no");
    assert_int_equal(back.layers, 1U << LAYER_LANDLOCK);
    assert_true(isnan(back.own_time_fraction) && back.case_count == 0 && !back.timing_note);
    verdict_deinit(&back);
}

static void assert_refused(const json_t *json, const char *why)
{
    struct verdict back;
    struct err err = {0};
    if (verdict_read(json, &back, &err) != ERR_INPUT || strcmp(err.text, why) != 0)
        fail_msg("%s instead of %s", err.text, why);
    verdict_deinit(&back);
}

TEST(refused)
{
    static const struct {
        const char *part, *why;
    } rows[] = {
        {"[]", "a verdict must be an object"},
        {"{\"status\": 5}", "verdict: 'status' must be a status of docs/reference/verdict.md"},
        {"{\"status\": \"sunny\"}", "verdict: 'status' must be a status of "
                                    "docs/reference/verdict.md"},
        {"{\"schema\": 2}", "verdict: 'schema' must be 1"},
        {"{\"schema\": 0}", "verdict: 'schema' must be 1"},
        {"{\"correct\": 1}", "verdict: 'correct' must be true or false"},
        {"{\"id\": null}", "verdict: 'id' must be a string"},
        {"{\"error\": \"no\"}", "verdict: 'error' must be an object"},
        {"{\"problem\": null}", "verdict: 'problem' must be an object"},
        {"{\"later\": 1}", "verdict: 'later' is not a field of a verdict"},
        {"{\"problem\": {\"later\": 1}}", "verdict: 'problem.later' is not a field of a verdict"},
        {"{\"correctness\": {\"trials\": -1}}",
         "verdict: 'correctness.trials' must be an integer from 0 to 4294967295"},
        {"{\"correctness\": {\"first_mismatch\": {\"index\": 1.5}}}",
         "verdict: 'correctness.first_mismatch.index' must be an integer that is not negative"},
        {"{\"timing\": {\"candidate\": {\"quartiles\": [1]}}}",
         "verdict: 'timing.candidate.quartiles' must be two numbers or nulls"},
        {"{\"timing\": {\"speedup\": \"2\"}}",
         "verdict: 'timing.speedup' must be a number or null"},
        {"{\"timing\": {\"cases\": [{\"candidate\": {\"quartiles\": [1, 1]}, \"reference\": "
         "{\"quartiles\": [1, 1]}, \"speedup_interval\": [1, 1], \"sizes\": 1}]}}",
         "verdict: 'timing.cases[0].sizes' must be a string or null"},
        {"{\"timing\": {\"clocks\": {\"sm_mhz\": [1, -1]}}}",
         "verdict: 'timing.clocks.sm_mhz' must be two integers or nulls"},
        {"{\"timing\": {\"clocks\": {\"sm_mhz\": [1, null], \"throttled\": [1]}}}",
         "verdict: 'timing.clocks.throttled' must be an array of at most 64 strings"},
        {"{\"profile\": {\"kernels\": [{\"grid\": [1, 2]}]}}",
         "verdict: 'profile.kernels[0].grid' must be three integers"},
        {"{\"profile\": {\"kernelgym\": {\"decoy_kernel\": \"no\"}}}",
         "verdict: 'profile.kernelgym.decoy_kernel' must be true or false"},
        {"{\"profile\": {\"kernels\": [{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}]}}",
         "verdict: 'profile.kernels' has 17 entries; 16 are the most"},
        {"{\"candidate\": {\"hash\": "
         "\"00000000000000000000000000000000000000000000000000000000000000000\"}}",
         "verdict: 'candidate.hash' must be a hash"},
        {"{\"stages_ms\": {\"queue\": []}}", "verdict: 'stages_ms.queue' must be a number or null"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        json_t *json = json_loads(rows[i].part, 0, NULL);
        assert_non_null(json);
        verdict_complete(json);
        assert_refused(json, rows[i].why);
        json_decref(json);
    }
}

/* Takes each required key away in turn. */
static void take_away(const json_t *whole, json_t *object, const struct verdict_shape *shape,
                      const char *prefix)
{
    for (size_t i = 0; i < shape->count; i++) {
        const struct verdict_field *field = &shape->fields[i];
        json_t *value = json_object_get(object, field->key);
        char path[128], why[256];
        snprintf(path, sizeof path, "%s%s%s", prefix, *prefix ? "." : "", field->key);
        snprintf(why, sizeof why, "verdict: '%s' is missing", path);
        if (!value || (field->flags & FIELD_OPTIONAL))
            continue;
        if (field->kind == FIELD_OBJECT && json_is_object(value))
            take_away(whole, value, field->shape, path);
        json_incref(value);
        json_object_del(object, field->key);
        assert_refused(whole, why);
        json_object_set_new(object, field->key, value);
    }
}

TEST(missing)
{
    fill_verdict();
    json_t *json = verdict_json(&verdict);
    take_away(json, json, &verdict_shape, "");
    json_decref(json);
}

/* Each value is taken away, and replaced by one of each other type: read, or refused with a
 * sentence; what was read can be written. */
static void spoil(json_t *whole, json_t *object)
{
    static const char *const others[] = {"null", "7",    "-0.5", "\"x\"", "[]",
                                         "{}",   "[{}]", "true", "1e308", "-9223372036854775808",
                                         NULL};
    json_t *copy = json_copy(object);
    const char *key;
    json_t *value;
    json_object_foreach(copy, key, value)
    {
        for (size_t i = 0; i < COUNT(others); i++) {
            struct verdict back;
            struct err err = {0};
            if (others[i])
                json_object_set_new(object, key, json_loads(others[i], JSON_DECODE_ANY, NULL));
            else
                json_object_del(object, key);
            if (verdict_read(whole, &back, &err) < 0)
                assert_true(err.text[0]);
            else
                json_decref(verdict_json(&back));
            verdict_deinit(&back);
        }
        json_object_set(object, key, value);
        json_t *inner = json_is_array(value) ? json_array_get(value, 0) : value;
        if (json_is_object(inner))
            spoil(whole, inner);
    }
    json_decref(copy);
}

TEST_WITH(spoiled, begin, end)
{
    fill_verdict();
    fill_trace();
    verdict.cases[1] = verdict.cases[0];
    verdict.case_count = 2;
    verdict.clocks.known = true;
    verdict_violation(&verdict, "H21", "late");
    json_t *json = verdict_json(&verdict);
    spoil(json, json);
    json_decref(json);
}
