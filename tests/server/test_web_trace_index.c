/* The index of traces.jsonl against files that grow, are cut, and hold what no trainer writes. */
#include "../support/test.h"
#include "base/mem.h"
#include "gym/report/metrics.h"
#include "server/web/trace_index.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#define ALL UINT64_MAX

struct fixture {
    char *directory, *path;
    struct trace_index index;
};

FIXTURE(set_up)
{
    struct fixture *fixture = mem_alloc(sizeof *fixture);
    fixture->directory = support_directory();
    fixture->path = mem_printf("%s/traces.jsonl", fixture->directory);
    trace_index_init(&fixture->index, fixture->path);
    *state = fixture;
    return 0;
}

FIXTURE(tear_down)
{
    struct fixture *fixture = *state;
    trace_index_deinit(&fixture->index);
    mem_free(fixture->path);
    mem_free(fixture);
    return 0;
}

static void append(const struct fixture *fixture, const char *text, size_t count)
{
    FILE *file = fopen(fixture->path, "ab");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, count, file), count);
    fclose(file);
}

static void append_text(const struct fixture *fixture, const char *text)
{
    append(fixture, text, strlen(text));
}

static void append_turn(const struct fixture *fixture, int step, int rollout, int turn,
                        const char *more)
{
    char *line = mem_printf("{\"step\":%d,\"problem\":\"relu\",\"rollout\":%d,\"turn\":%d%s}\n",
                            step, rollout, turn, more);
    append_text(fixture, line);
    mem_free(line);
}

static void read_index(struct fixture *fixture)
{
    struct err err;
    assert_ok(trace_index_read(&fixture->index, ALL, &err), &err);
}

#define INDEX_TEST(name) TEST_WITH(name, set_up, tear_down)

INDEX_TEST(missing_and_empty)
{
    struct fixture *fixture = *state;
    read_index(fixture);
    assert_int_equal(fixture->index.trajectory_count, 0);
    assert_int_equal(trace_index_find(&fixture->index, 0, 0), TRACE_NONE);
    append(fixture, "", 0);
    read_index(fixture);
    assert_int_equal(fixture->index.row_count, 0);
}

INDEX_TEST(turns_of_a_trajectory)
{
    struct fixture *fixture = *state;
    struct trace_index *index = &fixture->index;
    append_turn(fixture, 3, 1, 0, ",\"reward\":0.5,\"status\":\"wrong\"");
    append_turn(fixture, 3, 0, 0, ",\"reward\":null,\"verdict\":null");
    append_turn(fixture, 3, 1, 1,
                ",\"reward\":2,\"verdict\":{\"status\":\"passed\",\"timing\":{\"speedup\":1.5}}");
    append_turn(fixture, 3, 1, 2, ",\"reward\":1,\"status\":\"timeout\"");
    read_index(fixture);
    assert_int_equal(index->row_count, 4);
    assert_int_equal(index->trajectory_count, 2);
    uint32_t number = trace_index_find(index, 3, 1);
    const struct trace_trajectory *one = &index->trajectories[number];
    assert_int_equal(one->turns, 3);
    assert_int_equal(index->rows[one->first].turn, 0);
    assert_int_equal(index->rows[one->best].turn, 1);
    assert_int_equal(index->rows[one->best].status, STATUS_PASSED);
    assert_float_equal(index->rows[one->best].speedup, 1.5, 0);
    assert_int_equal(index->rows[one->last].turn, 2);
    assert_int_equal(index->rows[one->last].next, TRACE_NONE);
    one = &index->trajectories[trace_index_find(index, 3, 0)];
    assert_true(isnan(index->rows[one->best].reward));
    assert_int_equal(index->rows[one->best].status, GYM_NO_CODE);
    assert_string_equal(trace_index_problem(index, number), "relu");
}

INDEX_TEST(a_file_that_grows)
{
    struct fixture *fixture = *state;
    struct trace_index *index = &fixture->index;
    append_turn(fixture, 0, 0, 0, "");
    read_index(fixture);
    uint64_t generation = index->generation;
    append_text(fixture, "{\"step\":1,\"problem\":\"relu\",");
    read_index(fixture); /* half a line */
    assert_int_equal(index->row_count, 1);
    append_text(fixture, "\"rollout\":0,\"turn\":0}\n");
    read_index(fixture);
    assert_int_equal(index->row_count, 2);
    assert_int_equal(index->broken, 0);
    assert_int_equal(index->generation, generation);
    assert_int_equal(index->read_bytes, index->file_bytes);
}

INDEX_TEST(a_run_that_resumed)
{
    struct fixture *fixture = *state;
    struct trace_index *index = &fixture->index;
    for (int step = 0; step < 5; step++)
        append_turn(fixture, step, 0, 0, "");
    read_index(fixture);
    uint64_t generation = index->generation, length = index->read_bytes / 5;
    assert_int_equal(truncate(fixture->path, (off_t)(3 * length)), 0);
    read_index(fixture); /* shorter */
    assert_int_equal(index->trajectory_count, 3);
    assert_true(index->generation > generation);
    generation = index->generation;
    /* Cut, and longer again before one looks: other turns have the places of those indexed. */
    assert_int_equal(truncate(fixture->path, (off_t)length), 0);
    for (int step = 6; step < 10; step++)
        append_turn(fixture, step, 0, 0, "");
    read_index(fixture);
    assert_true(index->generation > generation);
    assert_int_equal(index->trajectory_count, 5);
    assert_int_equal(trace_index_find(index, 2, 0), TRACE_NONE);
    assert_int_not_equal(trace_index_find(index, 9, 0), TRACE_NONE);
    unlink(fixture->path);
    read_index(fixture);
    assert_int_equal(index->trajectory_count, 0);
}

INDEX_TEST(lines_that_are_no_turns)
{
    static const char *const rows[] = {
        "nonsense",
        "[1]",
        "1",
        "{}",
        "{\"step\":1}",
        "{\"step\":-1,\"problem\":\"x\",\"rollout\":0,\"turn\":0}",
        "{\"step\":\"1\",\"problem\":\"x\",\"rollout\":0,\"turn\":0}",
        "{\"step\":1e99,\"problem\":\"x\",\"rollout\":0,\"turn\":0}",
        "{\"step\":1,\"problem\":\"x\",\"rollout\":5e9,\"turn\":0}",
        "{\"step\":1,\"problem\":\"x\",\"rollout\":0,\"turn\":0",
        "{\"step\":1,\"rollout\":0,\"turn\":0}",
        "\xff\xfe\x01",
    };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        append_text(fixture, rows[i]);
        append_text(fixture, "\n");
        append_turn(fixture, (int)i, 0, 0, "");
    }
    read_index(fixture);
    assert_int_equal(fixture->index.broken, COUNT(rows));
    assert_int_equal(fixture->index.trajectory_count, COUNT(rows));
}

/* Names of all kinds are names; a NUL and bytes that are no UTF-8 do no harm. */
INDEX_TEST(hostile_bytes)
{
    static const char nul[] = "{\"step\":1,\"problem\":\"a\0b\",\"rollout\":0,\"turn\":0}\n";
    static const char bytes[] = "{\"step\":2,\"problem\":\"\xff\xfe\",\"rollout\":0,\"turn\":0}\n";
    static const char text[] =
        "{\"step\":3,\"problem\":\"</script>\\u202e\",\"rollout\":0,\"turn\":0,"
        "\"status\":\"<b>\",\"answer\":\"\\\"}{[\\\\\"}\n";
    struct fixture *fixture = *state;
    struct trace_index *index = &fixture->index;
    append(fixture, nul, sizeof nul - 1);
    append(fixture, bytes, sizeof bytes - 1);
    append(fixture, text, sizeof text - 1);
    read_index(fixture);
    assert_int_equal(index->trajectory_count, 3);
    assert_string_equal(trace_index_problem(index, 2), "</script>\xe2\x80\xae");
    assert_int_equal(index->rows[2].status, GYM_UNKNOWN);
}

INDEX_TEST(in_parts)
{
    struct fixture *fixture = *state;
    struct trace_index *index = &fixture->index;
    struct err err;
    for (int step = 0; step < 100; step++)
        append_turn(fixture, step, 0, 0, "");
    int reads = 0;
    do {
        assert_ok(trace_index_read(index, 1000, &err), &err);
        reads++;
    } while (index->read_bytes < index->file_bytes);
    assert_in_range(reads, 3, 10);
    assert_int_equal(index->trajectory_count, 100);
}

INDEX_TEST(many_trajectories)
{
    struct fixture *fixture = *state;
    struct trace_index *index = &fixture->index;
    FILE *file = fopen(fixture->path, "wb");
    for (int i = 0; i < 30000; i++)
        fprintf(file,
                "{\"step\":%d,\"problem\":\"p%d\",\"rollout\":%d,\"turn\":0,\"status\":\"%s\"}\n",
                i / 100, i % 7, i % 100, i % 3 ? "wrong" : "passed");
    fclose(file);
    read_index(fixture);
    assert_int_equal(index->trajectory_count, 30000);
    for (uint32_t i = 0; i < 30000; i++)
        assert_int_equal(trace_index_find(index, i / 100, i % 100), i);
    static const struct {
        struct trace_filter filter;
        uint64_t matched;
    } rows[] = {
        {{-1, NULL, -1}, 30000},
        {{-1, "", -1}, 30000},
        {{299, NULL, -1}, 100},
        {{300, NULL, -1}, 0},
        {{-1, "p3", -1}, 4286},
        {{-1, "P", -1}, 30000},
        {{-1, "q", -1}, 0},
        {{-1, NULL, STATUS_PASSED}, 10000},
        {{0, "p0", STATUS_PASSED}, 5},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint32_t numbers[10];
        uint64_t matched;
        size_t count = trace_index_select(index, &rows[i].filter, 3, 10, numbers, &matched);
        assert_int_equal(matched, rows[i].matched);
        uint64_t left = matched > 3 ? matched - 3 : 0;
        assert_int_equal(count, left < 10 ? left : 10);
    }
}
