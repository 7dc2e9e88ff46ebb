#include "cli/lm/bench_work.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/random.h"
#include "device/cpu.h"
#include "lm/sample/sampler.h"
#include "lm/train/trainer.h"

#include <string.h>

#define READ_LEAST ((size_t)256 << 20) /* bytes */
#define READ_MOST ((size_t)1 << 30)
#define MEASURED_NS 80000000 /* for each of the machine's rates */

/* Sizes of the squares whose product is timed; the largest is the arrays' size. */
static const size_t square_sizes[] = {1024, 1536, 2048};
#define CHILD_MAX 2048

struct lm_bench {
    struct lm_model *model;
    struct lm_bench_plan plan;
    struct lm_trainer *trainer;
    float *squares[3]; /* [CHILD_MAX, CHILD_MAX], in the backend's memory like all of these */
    float *array;
    size_t array_count;
    double *sum;
    uint64_t drawn; /* random tokens */
    int32_t *tokens, *prompt;
    struct lm_datum *datums;
    size_t datum_count;
};

static double matrix_elements(const struct lm_config *c)
{
    double width = (double)c->width, q = (double)(c->heads * c->head_width);
    double kv = (double)(c->kv_heads * c->head_width), inner = (double)c->inner;
    double layer = width * (2 * q + 2 * kv + 3 * inner);
    return (double)c->layers * layer + width * (double)c->vocab;
}

double lm_bench_train_flops(const struct lm_config *c, size_t length)
{
    double seen = ((double)length + 1) / 2;
    return 6 * matrix_elements(c) + 12 * (double)(c->layers * c->heads * c->head_width) * seen;
}

double lm_bench_decode_bytes(const struct lm_config *c, size_t batch, double positions)
{
    double cache = 2 * (double)(c->layers * c->kv_heads * c->head_width);
    return sizeof(float) * (matrix_elements(c) + (double)batch * positions * cache);
}

static double product_rate(struct lm_bench *bench, size_t square_size)
{
    struct lm_backend *backend = bench->model->backend;
    struct lm_linear op = {.rows = square_size,
                           .in = square_size,
                           .out = square_size,
                           .scale = 1,
                           .x = bench->squares[0],
                           .weight = bench->squares[1],
                           .y = bench->squares[2]};
    int64_t start_ns = clock_now_ns(), passed_ns = 0;
    double done = 0, flops = 2 * (double)square_size * (double)square_size * (double)square_size;
    while (passed_ns < MEASURED_NS) {
        backend->ops->linear.forward(backend, &op);
        (void)!lm_backend_wait(backend, NULL);
        done += flops;
        passed_ns = clock_now_ns() - start_ns;
    }
    return done / (double)passed_ns * 1e9;
}

static double read_rate(struct lm_bench *bench)
{
    struct lm_backend *backend = bench->model->backend;
    struct lm_square_sum op = {.count = bench->array_count, .x = bench->array, .sum = bench->sum};
    int64_t start_ns = clock_now_ns(), passed_ns = 0;
    double done = 0;
    while (passed_ns < MEASURED_NS) {
        backend->ops->square_sum.forward(backend, &op);
        (void)!lm_backend_wait(backend, NULL);
        done += (double)bench->array_count * sizeof(float);
        passed_ns = clock_now_ns() - start_ns;
    }
    return done / (double)passed_ns * 1e9;
}

static int train_rate(struct lm_bench *bench, double *rate, struct err *err)
{
    static const struct lm_adam gentle = {
        .rate = 1e-6, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .decay = 0.01, .clip = 1};
    struct loss_sums sums;
    double norm;
    int64_t start_ns = clock_now_ns();
    int result = lm_trainer_forward_backward(bench->trainer, bench->datums, bench->datum_count,
                                             loss_find("cross_entropy"), NULL, &sums, err);
    if (result == 0)
        result = lm_trainer_step(bench->trainer, &gentle, &norm, err);
    *rate = (double)(bench->datum_count * bench->plan.length) / clock_ms_since(start_ns) * 1e3;
    return result;
}

static void ignore_sample(void *context, size_t index, const struct lm_sample *sample)
{
    (void)context, (void)index, (void)sample;
}

static int submit_batch(struct lm_bench *bench, struct lm_sampler *sampler, size_t batch,
                        struct err *err)
{
    struct lm_request request = {.prompt = bench->prompt,
                                 .prompt_count = bench->plan.prompt,
                                 .samples = 1,
                                 .sampling = lm_sampling_defaults,
                                 .on_event = ignore_sample};
    request.sampling.temperature = 0;
    request.sampling.max_tokens = bench->plan.answer + 1;
    request.sampling.ignore_model_stops = true;
    for (size_t i = 0; i < batch; i++) {
        uint64_t id;
        bench->prompt[0] = (int32_t)(i % bench->model->config.vocab); /* no prompt is shared */
        int result = lm_sampler_submit(sampler, &request, &id, err);
        if (result < 0)
            return result;
    }
    return 0;
}

/* Timed from the moment when all sequences have their first token. */
static int decode_batch(struct lm_sampler *sampler, size_t batch, double *rate, struct err *err)
{
    bool busy = true;
    int result = 0;
    while (result == 0 && busy && lm_sampler_stats(sampler).tokens < batch)
        result = lm_sampler_step(sampler, &busy, err);
    uint64_t before = lm_sampler_stats(sampler).tokens;
    int64_t start_ns = clock_now_ns();
    while (result == 0 && busy)
        result = lm_sampler_step(sampler, &busy, err);
    *rate = (double)(lm_sampler_stats(sampler).tokens - before) / clock_ms_since(start_ns) * 1e3;
    return result;
}

static int decode_rate(struct lm_bench *bench, size_t batch, double *rate, struct err *err)
{
    size_t positions = bench->plan.prompt + bench->plan.answer + 1;
    struct lm_sampler_options options = {.sequences = batch,
                                         .rows = batch * bench->plan.prompt,
                                         .cache_tokens = batch * (positions + 32)};
    struct lm_sampler *sampler = NULL;
    int result = lm_sampler_open(&sampler, bench->model, &options, err);
    if (result == 0)
        result = submit_batch(bench, sampler, batch, err);
    if (result == 0)
        result = decode_batch(sampler, batch, rate, err);
    lm_sampler_close(sampler);
    return result;
}

int lm_bench_round(struct lm_bench *bench, struct lm_bench_round *round, struct err *err)
{
    int result = 0;
    *round = (struct lm_bench_round){0};
    for (size_t i = 0; i < COUNT(square_sizes); i++) {
        double rate = product_rate(bench, square_sizes[i]);
        round->product_flops = rate > round->product_flops ? rate : round->product_flops;
    }
    if (bench->plan.train)
        result = train_rate(bench, &round->train_tokens, err);
    round->read_bytes = read_rate(bench);
    for (size_t i = 0; result == 0 && i < bench->plan.batch_count; i++)
        result = decode_rate(bench, bench->plan.batches[i], &round->decode_tokens[i], err);
    return result;
}

static int32_t draw_token(struct lm_bench *bench)
{
    return (int32_t)(random_mix(++bench->drawn * RANDOM_GOLDEN) % bench->model->config.vocab);
}

static void draw_datums(struct lm_bench *bench)
{
    const struct lm_bench_plan *plan = &bench->plan;
    bench->datum_count = plan->tokens / plan->length;
    size_t rows = bench->datum_count * (plan->length + 1);
    bench->tokens = mem_alloc(rows * sizeof *bench->tokens);
    bench->prompt = mem_alloc(plan->prompt * sizeof *bench->prompt);
    bench->datums = mem_alloc(bench->datum_count * sizeof *bench->datums);
    for (size_t i = 0; i < rows; i++)
        bench->tokens[i] = draw_token(bench);
    for (size_t i = 0; i < plan->prompt; i++)
        bench->prompt[i] = draw_token(bench);
    for (size_t i = 0; i < bench->datum_count; i++) {
        const int32_t *tokens = bench->tokens + i * (plan->length + 1);
        bench->datums[i] = (struct lm_datum){.count = plan->length,
                                             .tokens = tokens,
                                             .targets_per_row = 1,
                                             .targets = tokens + 1};
    }
}

static size_t array_bytes(void)
{
    struct cpu cpu;
    cpu_detect(&cpu);
    size_t wanted = 4 * (size_t)cpu.l3_total;
    return wanted < READ_LEAST ? READ_LEAST : wanted > READ_MOST ? READ_MOST : wanted;
}

static int alloc_arrays(struct lm_bench *bench, struct err *err)
{
    struct lm_backend *backend = bench->model->backend;
    size_t square = (size_t)CHILD_MAX * CHILD_MAX * sizeof(float), bytes = array_bytes();
    int result = 0;
    for (size_t i = 0; i < 3 && result == 0; i++)
        result = lm_backend_alloc(backend, square, "a square", (void **)&bench->squares[i], err);
    if (result == 0)
        result = lm_backend_alloc(backend, bytes, "the array to read", (void **)&bench->array, err);
    if (result == 0)
        result = lm_backend_alloc(backend, sizeof(double), "a sum", (void **)&bench->sum, err);
    if (result < 0)
        return result;
    for (size_t i = 0; i < 3; i++)
        backend->zero(backend, bench->squares[i], square);
    backend->zero(backend, bench->array, bytes);
    bench->array_count = bytes / sizeof(float);
    return 0;
}

int lm_bench_open(struct lm_bench **out, struct lm_model *model, const struct lm_bench_plan *plan,
                  struct err *err)
{
    const struct lm_trainer_options options = {.batch_tokens = plan->tokens};
    struct lm_bench *bench = mem_alloc(sizeof *bench);
    *bench = (struct lm_bench){.model = model, .plan = *plan};
    draw_datums(bench);
    int result = alloc_arrays(bench, err);
    if (result == 0 && plan->train)
        result = lm_trainer_open(&bench->trainer, model, &options, err);
    if (result < 0)
        lm_bench_close(bench);
    else
        *out = bench;
    return result;
}

void lm_bench_close(struct lm_bench *bench)
{
    if (!bench)
        return;
    struct lm_backend *backend = bench->model->backend;
    lm_trainer_close(bench->trainer);
    for (size_t i = 0; i < 3; i++)
        backend->free(backend, bench->squares[i]);
    backend->free(backend, bench->array);
    backend->free(backend, bench->sum);
    mem_free(bench->tokens);
    mem_free(bench->prompt);
    mem_free(bench->datums);
    mem_free(bench);
}
