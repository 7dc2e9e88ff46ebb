#include "lm/cpu/blas.h"

#include "base/array.h"
#include "device/library.h"
#include "lm/cpu/thread_pool.h"

#include <math.h>
#include <sched.h>

/* Of the CBLAS interface. */
#define ROW_MAJOR 101
#define AS_IT_IS 111
#define TURNED 112

/* Multiply-adds that are worth a thread of their own. */
#define TASK_LEAST ((double)(1 << 17))
#define TASKS_EACH 2 /* of a thread, where a task is long: the last to end is not far behind */
#define TASK_LONG ((double)(1 << 24))
/* Parts of c are cut at multiples of a register tile. */
#define ROW_UNIT 16
#define COLUMN_UNIT 16

/* As it is loaded OpenBLAS starts a thread for each processor that it may use; it is shown one. */
static int open_on_one_processor(struct blas *blas, struct err *err)
{
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so", NULL};
    static const struct library_function functions[] = {
        {"openblas_set_num_threads", offsetof(struct blas, set_threads), false},
        {"cblas_sgemm", offsetof(struct blas, sgemm), false},
    };
    cpu_set_t before, one;
    int here = sched_getcpu();
    bool shown = here >= 0 && here < CPU_SETSIZE &&
                 sched_getaffinity(0, sizeof before, &before) == 0;
    if (shown) {
        CPU_ZERO(&one);
        CPU_SET(here, &one);
        shown = sched_setaffinity(0, sizeof one, &one) == 0;
    }
    int result = library_open(&blas->handle, names, functions, COUNT(functions), blas, err);
    if (shown)
        sched_setaffinity(0, sizeof before, &before);
    return result;
}

int blas_open(struct blas *blas, struct err *err)
{
    int result = open_on_one_processor(blas, err);
    if (result == ERR_MISSING)
        return err_set(err, result,
                       "the cpu backend needs OpenBLAS, which is not on this machine: install "
                       "libopenblas0-pthread, or choose the reference backend");
    if (result == 0)
        blas->set_threads(1);
    return result;
}

/* The library stays in the process: it is not made to be unloaded. */
void blas_close(struct blas *blas)
{
    *blas = (struct blas){0};
}

void blas_matmul(const struct blas *blas, const struct matmul *m)
{
    if (m->rows == 0 || m->columns == 0)
        return;
    blas->sgemm(ROW_MAJOR, m->a_turned ? TURNED : AS_IT_IS, m->b_turned ? TURNED : AS_IT_IS,
                (int)m->rows, (int)m->columns, (int)m->inner, m->alpha, m->a, (int)m->a_stride,
                m->b, (int)m->b_stride, m->beta, m->c, (int)m->c_stride);
}

struct grid {
    size_t down, across;
};

/* Each part packs its rows of a and its columns of b again, so parts are as square as it goes. */
static struct grid grid_of(const struct matmul *m, size_t threads)
{
    double work = (double)m->rows * (double)m->columns * (double)m->inner;
    double most = (double)threads * (work > TASK_LONG * (double)threads ? TASKS_EACH : 1);
    size_t parts = threads <= 1 || work < TASK_LEAST ? 1 : (size_t)fmin(work / TASK_LEAST, most);
    size_t rows = (m->rows + ROW_UNIT - 1) / ROW_UNIT;
    size_t columns = (m->columns + COLUMN_UNIT - 1) / COLUMN_UNIT;
    struct grid best = {1, 1};
    double packed = (double)m->rows + (double)m->columns;
    for (size_t down = 1; down <= parts && down <= rows; down++) {
        size_t across = parts / down < columns ? parts / down : columns;
        double found = (double)m->rows * (double)across + (double)m->columns * (double)down;
        size_t before = best.down * best.across;
        if (down * across > before || (down * across == before && found < packed)) {
            packed = found;
            best = (struct grid){down, across};
        }
    }
    return best;
}

size_t matmul_tasks(const struct matmul *m, size_t threads)
{
    struct grid grid = grid_of(m, threads);
    return grid.down * grid.across;
}

struct matmul matmul_part(const struct matmul *m, size_t threads, size_t task)
{
    struct grid grid = grid_of(m, threads);
    struct lm_pool_range rows = lm_pool_cut(m->rows, ROW_UNIT, grid.down, task / grid.across);
    struct lm_pool_range columns = lm_pool_cut(m->columns, COLUMN_UNIT, grid.across,
                                               task % grid.across);
    struct matmul part = *m;
    part.rows = rows.count;
    part.columns = columns.count;
    part.a += m->a_turned ? rows.first : rows.first * m->a_stride;
    part.b += m->b_turned ? columns.first * m->b_stride : columns.first;
    part.c += rows.first * m->c_stride + columns.first;
    return part;
}

struct lm_pool_matmul {
    const struct blas *blas;
    size_t threads;
    const struct matmul *matmul;
};

static void matmul_task(const void *data, size_t task, size_t thread)
{
    const struct lm_pool_matmul *work = data;
    struct matmul part = matmul_part(work->matmul, work->threads, task);
    blas_matmul(work->blas, &part);
}

void blas_matmul_pool(const struct blas *blas, struct lm_pool *pool, size_t threads,
                      const struct matmul *matmul)
{
    lm_pool_run(pool, matmul_tasks(matmul, threads), matmul_task,
                &(struct lm_pool_matmul){blas, threads, matmul});
}
