#include "rl/run/series.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "rl/run/lengths.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROWS_FIRST 64
#define READ_BYTES ((size_t)1 << 20)

void run_series_init(struct run_series *series, const char *path, size_t tail_bytes)
{
    *series = (struct run_series){.path = mem_strdup(path), .tail_bytes = tail_bytes};
}

static void clear(struct run_series *series)
{
    for (size_t i = 0; i < series->column_count; i++) {
        mem_free(series->columns[i].name);
        mem_free(series->columns[i].values);
    }
    mem_free(series->columns);
    mem_free(series->steps);
    *series = (struct run_series){.path = series->path, .tail_bytes = series->tail_bytes};
}

void run_series_deinit(struct run_series *series)
{
    clear(series);
    mem_free(series->path);
    *series = (struct run_series){0};
}

/* ----------------------------------------------------------------------------------------- rows */

static void make_room(struct run_series *series)
{
    if (series->count < series->room)
        return;
    series->room = series->room ? 2 * series->room : ROWS_FIRST;
    series->steps = mem_resize(series->steps, series->room * sizeof *series->steps);
    for (size_t i = 0; i < series->column_count; i++)
        series->columns[i].values = mem_resize(series->columns[i].values,
                                               series->room * sizeof(double));
}

static void add_row(struct run_series *series, uint64_t step)
{
    if (series->count > 0 && series->steps[series->count - 1] == step)
        return;
    make_room(series);
    series->steps[series->count] = step;
    for (size_t i = 0; i < series->column_count; i++)
        series->columns[i].values[series->count] = NAN;
    series->count++;
}

/* Lines mostly have the same names in the same order: *next is where the last one was found. */
static struct run_column *column_of(struct run_series *series, const char *name, size_t *next)
{
    for (size_t i = 0; i < series->column_count; i++) {
        size_t at = (*next + i) % series->column_count;
        if (strcmp(series->columns[at].name, name) == 0) {
            *next = at + 1;
            return &series->columns[at];
        }
    }
    if (series->column_count == LIMIT_RUN_METRICS)
        return NULL;
    series->columns = mem_resize(series->columns,
                                 (series->column_count + 1) * sizeof *series->columns);
    struct run_column *column = &series->columns[series->column_count++];
    *column = (struct run_column){.name = mem_strdup(name),
                                  .values = mem_alloc(series->room * sizeof(double))};
    for (size_t i = 0; i < series->count; i++)
        column->values[i] = NAN;
    *next = series->column_count;
    return column;
}

static int take_line(struct run_series *series, const char *text, size_t count, struct err *err)
{
    json_t *line = NULL;
    const char *name;
    json_t *value;
    int64_t step = 0;
    size_t next = 0;
    int result = json_parse_line(series->path, ++series->number, text, count, &line, err);
    if (result == 0 && (json_get_int(line, "step", &step, err) < 0 || step < 0))
        result = err_set(err, ERR_INPUT, "%s:%zu: no line of metrics, for it has no step",
                         series->path, series->number);
    if (result < 0) {
        json_decref(line);
        return result;
    }
    add_row(series, (uint64_t)step);
    json_object_foreach(line, name, value)
    {
        struct run_column *column = json_is_number(value) && strcmp(name, "step") != 0
                                        ? column_of(series, name, &next)
                                        : NULL;
        if (column)
            column->values[series->count - 1] = json_number_value(value);
    }
    json_decref(line);
    return 0;
}

/* -------------------------------------------------------------------------------------- reading */

/* Whole lines of `bytes`; *used: how many bytes they are. */
static int take_lines(struct run_series *series, const char *bytes, size_t count, size_t *used,
                      struct err *err)
{
    const char *end;
    int result = 0;
    *used = 0;
    while (result == 0 && (end = memchr(bytes + *used, '\n', count - *used))) {
        result = take_line(series, bytes + *used, (size_t)(end - bytes) - *used, err);
        *used = (size_t)(end - bytes) + 1;
    }
    return result;
}

static int read_rest(struct run_series *series, int fd, struct err *err)
{
    size_t room = READ_BYTES, used = 0;
    char *bytes = mem_alloc(room);
    int result = 0;
    ssize_t got;
    while (result == 0 && (got = pread(fd, bytes, room, series->read)) != 0) {
        if (got < 0) {
            result = err_sys(err, errno, "%s: cannot read", series->path);
            break;
        }
        result = take_lines(series, bytes, (size_t)got, &used, err);
        series->read += (off_t)used;
        if (used > 0)
            continue;
        if ((size_t)got < room) /* half a line */
            break;
        room *= 2;
        if (room > LIMIT_JOURNAL_LINE_BYTES)
            result = err_set(err, ERR_LIMIT, "%s:%zu: a line of more than %zu bytes", series->path,
                             series->number + 1, LIMIT_JOURNAL_LINE_BYTES);
        else
            bytes = mem_resize(bytes, room);
    }
    mem_free(bytes);
    return result;
}

int run_series_read(struct run_series *series, struct err *err)
{
    struct stat status = {0};
    int fd = open(series->path, O_RDONLY | O_CLOEXEC);
    int result = 0;
    if (fd < 0 && errno == ENOENT) {
        clear(series);
        return 0;
    }
    if (fd < 0 || fstat(fd, &status) < 0)
        result = err_sys(err, errno, "%s: cannot read", series->path);
    if (result == 0 && status.st_size < series->read)
        clear(series);
    if (result == 0) {
        if (series->read == 0)
            series->read = run_tail(fd, status.st_size, series->tail_bytes);
        result = read_rest(series, fd, err);
    }
    if (fd >= 0)
        close(fd);
    return result;
}

/* --------------------------------------------------------------------------------------- asking */

const struct run_column *run_series_find(const struct run_series *series, const char *name)
{
    for (size_t i = 0; i < series->column_count; i++)
        if (strcmp(series->columns[i].name, name) == 0)
            return &series->columns[i];
    return NULL;
}

struct run_mean run_series_mean(const struct run_series *series, const char *name, uint64_t step,
                                size_t over)
{
    const struct run_column *column = run_series_find(series, name);
    size_t end = series->count;
    double sum = 0, squares = 0, count = 0;
    if (!column)
        return (struct run_mean){NAN, NAN, 0};
    while (end > 0 && series->steps[end - 1] > step)
        end--;
    size_t first = end > over ? end - over : 0;
    for (size_t i = first; i < end; i++)
        if (isfinite(column->values[i])) {
            sum += column->values[i];
            count++;
        }
    if (count == 0)
        return (struct run_mean){run_series_at(series, name, step, NULL), NAN, 0};
    for (size_t i = first; i < end; i++)
        if (isfinite(column->values[i]))
            squares += pow(column->values[i] - sum / count, 2);
    return (struct run_mean){sum / count, count > 1 ? sqrt(squares / (count - 1)) : NAN,
                             (size_t)count};
}

double run_series_at(const struct run_series *series, const char *name, uint64_t step, uint64_t *at)
{
    const struct run_column *column = run_series_find(series, name);
    for (size_t i = column ? series->count : 0; i-- > 0;)
        if (series->steps[i] <= step && !isnan(column->values[i])) {
            if (at)
                *at = series->steps[i];
            return column->values[i];
        }
    return NAN;
}
