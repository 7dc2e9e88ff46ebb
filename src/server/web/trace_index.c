#include "server/web/trace_index.h"

#include "base/limits.h"
#include "base/lines.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "gym/report/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <uthash.h>

#define FIRST_ROWS 1024
#define NAME_BYTES 256
#define GUARD_BYTES 4096
#define MORE_PROBLEMS "…" /* all beyond LIMIT_WEB_PROBLEMS */

struct trace_problem {
    uint32_t number;
    UT_hash_handle hh;
    char name[];
};

/* FNV-1a: no hostile party gains by a collision, for a run's files are the user's own. */
static uint64_t hash_more(uint64_t hash, const void *bytes, size_t count)
{
    for (const unsigned char *at = bytes; count > 0; at++, count--)
        hash = (hash ^ *at) * 0x100000001b3u;
    return hash;
}

#define HASH_BEGIN 0xcbf29ce484222325u

void trace_index_init(struct trace_index *index, const char *path)
{
    *index = (struct trace_index){.path = mem_strdup(path)};
}

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static void clear_index(struct trace_index *index)
{
    struct trace_problem *problem, *next;
    HASH_ITER (hh, index->problems, problem, next) {
        HASH_DEL(index->problems, problem);
        mem_free(problem);
    }
    mem_free(index->names);
    mem_free(index->rows);
    mem_free(index->trajectories);
    mem_free(index->slots);
    *index = (struct trace_index){.path = index->path, .generation = index->generation + 1};
}

void trace_index_deinit(struct trace_index *index)
{
    clear_index(index);
    mem_free(index->path);
    *index = (struct trace_index){0};
}

/* --- a turn ----------------------------------------------------------------------------------- */

struct turn {
    double step, rollout, turn, reward, speedup;
    struct json_slice problem, status;
};

/* The status and the speedup of lines that have them in their verdict alone. */
static void scan_verdict(struct json_slice verdict, struct turn *turn)
{
    if (!turn->status.text)
        turn->status = json_scan_member(verdict, "status");
    if (isnan(turn->speedup))
        turn->speedup = json_slice_number(
            json_scan_member(json_scan_member(verdict, "timing"), "speedup"));
}

/* False: the line is no turn. */
static bool scan_turn(struct json_slice line, struct turn *turn)
{
    const struct {
        const char *name;
        double *value;
    } numbers[] = {{"step", &turn->step},
                   {"rollout", &turn->rollout},
                   {"turn", &turn->turn},
                   {"reward", &turn->reward},
                   {"speedup", &turn->speedup}};
    struct json_scan scan;
    struct json_slice key, value, verdict = {0};
    int result = json_scan_begin(&scan, line);
    *turn = (struct turn){NAN, NAN, NAN, NAN, NAN, {0}, {0}};
    while (result >= 0 && (result = json_scan_next(&scan, &key, &value)) > 0) {
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            if (json_slice_is(key, numbers[i].name))
                *numbers[i].value = json_slice_number(value);
        if (json_slice_is(key, "problem"))
            turn->problem = value;
        else if (json_slice_is(key, "status") && *value.text == '"')
            turn->status = value;
        else if (json_slice_is(key, "verdict"))
            verdict = value;
    }
    if (result == 0)
        scan_verdict(verdict, turn);
    return result == 0 && turn->step >= 0 && turn->step < 1e15 && turn->rollout >= 0 &&
           turn->rollout < UINT32_MAX && turn->turn >= 0 && turn->turn < UINT32_MAX &&
           turn->problem.text;
}

static int status_of(const struct turn *turn)
{
    char *name = json_slice_text(turn->status);
    int status = gym_status_of(name ? name : gym_status_name(GYM_NO_CODE));
    mem_free(name);
    return status;
}

/* --- adding ----------------------------------------------------------------------------------- */

/* NOLINTNEXTLINE(readability-function-size): uthash's macros nest deeper than we do */
static uint32_t problem_of(struct trace_index *index, const char *name)
{
    struct trace_problem *problem;
    size_t length = utf8_cut(name, strlen(name), NAME_BYTES);
    HASH_FIND(hh, index->problems, name, length, problem);
    if (problem)
        return problem->number;
    if (index->problem_count == LIMIT_WEB_PROBLEMS)
        return index->problem_count - 1;
    bool last = index->problem_count + 1 == LIMIT_WEB_PROBLEMS;
    name = last ? MORE_PROBLEMS : name;
    length = last ? strlen(name) : length;
    problem = mem_alloc(sizeof *problem + length + 1);
    memcpy(problem->name, name, length);
    problem->number = index->problem_count;
    HASH_ADD_KEYPTR(hh, index->problems, problem->name, length, problem);
    index->names = mem_resize(index->names, (index->problem_count + 1) * sizeof *index->names);
    index->names[index->problem_count] = problem->name;
    return index->problem_count++;
}

/* Where a trajectory is in the hash table, or the free slot where it belongs. */
static uint32_t slot_of(const struct trace_index *index, uint64_t step, uint32_t rollout)
{
    uint64_t hash = hash_more(hash_more(HASH_BEGIN, &step, sizeof step), &rollout, sizeof rollout);
    uint32_t slot = (uint32_t)(hash ^ hash >> 32) & (index->slot_count - 1);
    for (;; slot = (slot + 1) & (index->slot_count - 1)) {
        if (index->slots[slot] == 0)
            return slot;
        const struct trace_trajectory *one = &index->trajectories[index->slots[slot] - 1];
        if (one->step == step && one->rollout == rollout)
            return slot;
    }
}

/* At least half of the slots are free. */
static void grow_slots(struct trace_index *index)
{
    if (2 * (index->trajectory_count + 1) <= index->slot_count)
        return;
    index->slot_count = index->slot_count ? 2 * index->slot_count : 2 * FIRST_ROWS;
    mem_free(index->slots);
    index->slots = mem_alloc(index->slot_count * sizeof *index->slots);
    for (uint32_t i = 0; i < index->trajectory_count; i++)
        index->slots[slot_of(index, index->trajectories[i].step, index->trajectories[i].rollout)] =
            i + 1;
}

static struct trace_trajectory *trajectory_of(struct trace_index *index, const struct turn *turn,
                                              uint32_t row)
{
    grow_slots(index);
    uint64_t step = (uint64_t)turn->step;
    uint32_t rollout = (uint32_t)turn->rollout, slot = slot_of(index, step, rollout);
    if (index->slots[slot] > 0)
        return &index->trajectories[index->slots[slot] - 1];
    if (index->trajectory_count == index->trajectory_capacity) {
        index->trajectory_capacity = index->trajectory_capacity ? 2 * index->trajectory_capacity
                                                                : FIRST_ROWS;
        index->trajectories = mem_resize(index->trajectories,
                                         index->trajectory_capacity * sizeof *index->trajectories);
    }
    char *problem = json_slice_text(turn->problem);
    struct trace_trajectory *one = &index->trajectories[index->trajectory_count++];
    *one = (struct trace_trajectory){.step = step,
                                     .rollout = rollout,
                                     .problem = problem_of(index, problem ? problem : "?"),
                                     .first = row,
                                     .last = TRACE_NONE,
                                     .best = row};
    mem_free(problem);
    index->slots[slot] = index->trajectory_count;
    return one;
}

static void add_turn(struct trace_index *index, const struct turn *turn, uint64_t at, size_t bytes)
{
    if (index->row_count == LIMIT_WEB_TURNS) {
        index->left_out++;
        return;
    }
    if (index->row_count == index->row_capacity) {
        index->row_capacity = index->row_capacity ? 2 * index->row_capacity : FIRST_ROWS;
        index->rows = mem_resize(index->rows, index->row_capacity * sizeof *index->rows);
    }
    uint32_t row = index->row_count++;
    index->rows[row] = (struct trace_row){.at = at,
                                          .bytes = (uint32_t)bytes,
                                          .turn = (uint32_t)turn->turn,
                                          .next = TRACE_NONE,
                                          .reward = (float)turn->reward,
                                          .speedup = (float)turn->speedup,
                                          .status = status_of(turn)};
    struct trace_trajectory *one = trajectory_of(index, turn, row);
    if (one->last != TRACE_NONE)
        index->rows[one->last].next = row;
    one->last = row;
    one->turns++;
    float best = index->rows[one->best].reward, reward = index->rows[row].reward;
    if (isnan(best) || reward > best)
        one->best = row;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* The hash of the last bytes before read_bytes. */
static uint64_t hash_guard(int fd, uint64_t at, uint32_t count)
{
    char bytes[GUARD_BYTES];
    ssize_t got = pread(fd, bytes, count, (off_t)at);
    return got == (ssize_t)count ? hash_more(HASH_BEGIN, bytes, count) : 0;
}

static void set_guard(struct trace_index *index, int fd)
{
    uint64_t read = index->read_bytes;
    index->guard_bytes = read < GUARD_BYTES ? (uint32_t)read : GUARD_BYTES;
    index->guard_at = read - index->guard_bytes;
    index->guard_hash = hash_guard(fd, index->guard_at, index->guard_bytes);
}

static int read_lines(struct trace_index *index, int fd, uint64_t most_bytes, struct err *err)
{
    const struct lines_options options = {.max_bytes = LIMIT_JOURNAL_LINE_BYTES, .borrowed = true};
    const uint64_t begun = index->read_bytes;
    const char *text;
    size_t count;
    int result = 1;
    if (lseek(fd, (off_t)begun, SEEK_SET) < 0)
        return err_sys(err, errno, "cannot read %s", index->path);
    struct lines *lines = lines_open_with(fd, index->path, &options);
    while (result > 0 && index->read_bytes - begun < most_bytes) {
        result = lines_next(lines, &text, &count, err);
        if (result == ERR_LIMIT) {
            index->broken++;
            result = 1;
            continue;
        }
        if (result <= 0 || !lines_is_whole(lines))
            break;
        uint64_t end = begun + (uint64_t)lines_end(lines);
        struct turn turn;
        if (scan_turn((struct json_slice){text, count}, &turn))
            add_turn(index, &turn, end - 1 - count, count);
        else
            index->broken++;
        index->read_bytes = end;
    }
    lines_close(lines);
    return result < 0 ? result : 0;
}

int trace_index_read(struct trace_index *index, uint64_t most_bytes, struct err *err)
{
    struct stat status = {0};
    int result = 0, fd = open(index->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        if (index->read_bytes > 0)
            clear_index(index);
        return 0;
    }
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        result = err_sys(err, fd < 0 ? errno : EINVAL, "cannot read %s", index->path);
    uint64_t size = (uint64_t)status.st_size;
    if (result == 0 && index->read_bytes > 0 &&
        (size < index->read_bytes ||
         hash_guard(fd, index->guard_at, index->guard_bytes) != index->guard_hash))
        clear_index(index);
    index->file_bytes = size;
    if (result == 0 && size > index->read_bytes) {
        result = read_lines(index, fd, most_bytes, err);
        set_guard(index, fd);
    }
    if (fd >= 0)
        close(fd);
    return result;
}

/* --- selecting -------------------------------------------------------------------------------- */

uint32_t trace_index_find(const struct trace_index *index, uint64_t step, uint32_t rollout)
{
    uint32_t slot = index->slot_count ? slot_of(index, step, rollout) : 0;
    return index->slot_count && index->slots[slot] > 0 ? index->slots[slot] - 1 : TRACE_NONE;
}

const char *trace_index_problem(const struct trace_index *index, uint32_t trajectory)
{
    return index->names[index->trajectories[trajectory].problem];
}

/* Whether each problem matches. NULL: all do. */
static bool *match_problems(const struct trace_index *index, const char *wanted)
{
    bool *matches = wanted && *wanted ? mem_alloc(index->problem_count + 1) : NULL;
    bool exact = false;
    for (uint32_t i = 0; matches && i < index->problem_count; i++)
        exact = (matches[i] = strcmp(index->names[i], wanted) == 0) || exact;
    for (uint32_t i = 0; matches && !exact && i < index->problem_count; i++)
        matches[i] = strcasestr(index->names[i], wanted) != NULL;
    return matches;
}

size_t trace_index_select(const struct trace_index *index, const struct trace_filter *filter,
                          uint64_t skip, size_t limit, uint32_t *out, uint64_t *matched)
{
    bool *problems = match_problems(index, filter->problem);
    size_t count = 0;
    *matched = 0;
    for (uint32_t i = 0; i < index->trajectory_count; i++) {
        const struct trace_trajectory *one = &index->trajectories[i];
        if ((filter->step >= 0 && one->step != (uint64_t)filter->step) ||
            (problems && !problems[one->problem]) ||
            (filter->status >= 0 && index->rows[one->best].status != filter->status))
            continue;
        if ((*matched)++ >= skip && count < limit)
            out[count++] = i;
    }
    mem_free(problems);
    return count;
}
