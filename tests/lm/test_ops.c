/* Every operation of each backend: its backward against differences of its forward, and
 * what both promise of frozen parameters, sums and repetition. */
#include "../support/lm_op_cases.h"

#include "../support/test.h"
#include "base/mem.h"

#include <math.h>

#define STEP 0x1p-7
/* f32 outputs and four differences of order STEP. */
#define TOLERANCE 2e-4

static const char *backend_name;

FIXTURE(begin)
{
    struct lm_backend *backend;
    struct err err;
    assert_ok(lm_backend_open(&backend, backend_name, 2, &err), &err);
    *state = backend;
    return 0;
}

FIXTURE(end)
{
    lm_backend_close(*state);
    return 0;
}

TEST_GROUP(begin, end);

static void run(struct lm_op_case *c, struct lm_backend *backend, bool backward)
{
    struct err err;
    if (lm_op_case_run(c, backend, backward, &err) < 0)
        fail_msg("%s, %s: %s", c->op, c->variant, err.text);
}

/* Σ output · its gradient, with `input` moved by step · direction. */
static double moved(struct lm_op_case *c, struct lm_backend *backend, struct lm_op_array *input,
                    const double *direction, double step)
{
    double *start = input->start, sum = 0;
    input->start = mem_alloc(input->count * sizeof *start);
    for (size_t i = 0; i < input->count; i++)
        input->start[i] = start[i] + step * direction[i];
    run(c, backend, false);
    mem_free(input->start);
    input->start = start;
    for (size_t a = 0; a < c->count; a++) {
        const struct lm_op_array *output = &c->arrays[a];
        if (!(output->flags & LM_OP_OUTPUT) || !output->partner)
            continue;
        const struct lm_op_array *given = lm_op_case_find(c, output->partner);
        for (size_t i = 0; i < output->count; i++)
            sum += output->found[i] * given->start[i];
    }
    return sum;
}

/* Along the gradient itself, which a wrong size or sign shows in, and along other directions, which
 * wrong places show in. */
static void check_gradient(struct lm_op_case *c, struct lm_backend *backend,
                           struct lm_op_array *gradient, size_t trial)
{
    struct lm_op_array *input = lm_op_case_find(c, gradient->partner);
    double *found = mem_alloc(gradient->count * sizeof *found);
    double *direction = mem_alloc(gradient->count * sizeof *direction);
    double norm = 0, size = 0, expected = 0;
    run(c, backend, true);
    for (size_t i = 0; i < gradient->count; i++) {
        found[i] = gradient->found[i] - (gradient->flags & LM_OP_ADDED ? gradient->start[i] : 0);
        norm += found[i] * found[i];
    }
    norm = sqrt(norm);
    for (size_t i = 0; i < gradient->count; i++) {
        double other = sin((double)(5 * i * i + 3 * i + trial)) / sqrt((double)gradient->count);
        direction[i] = trial > 0 || norm == 0 ? other : found[i] / norm;
        /* Steps that f32 takes exactly. */
        direction[i] = round(direction[i] * 0x1p14) * 0x1p-14;
        size += direction[i] * direction[i];
        expected += direction[i] * found[i];
    }
    double one = moved(c, backend, input, direction, STEP) -
                 moved(c, backend, input, direction, -STEP);
    double two = moved(c, backend, input, direction, 2 * STEP) -
                 moved(c, backend, input, direction, -2 * STEP);
    double difference = (8 * one - two) / (12 * STEP);
    if (fabs(difference - expected) > TOLERANCE * (norm * sqrt(size) + 1))
        fail_msg("%s, %s, %s: gradient %.8g, difference %.8g", c->op, c->variant, gradient->name,
                 expected, difference);
    mem_free(found);
    mem_free(direction);
}

TEST(gradients)
{
    size_t checked = 0;
    for (size_t i = 0; i < lm_op_case_count; i++) {
        struct lm_op_case c;
        lm_op_case_init(&c, i);
        for (size_t a = 0; a < c.count && !c.large; a++)
            for (size_t trial = 0; trial < 4 && (c.arrays[a].flags & LM_OP_GRADIENT); trial++) {
                check_gradient(&c, *state, &c.arrays[a], trial);
                checked++;
            }
        lm_op_case_deinit(&c);
    }
    assert_true(checked > 100);
}

/* What is left out changes nothing of the rest, to the bit. */
TEST(optional)
{
    size_t checked = 0;
    for (size_t i = 0; i < lm_op_case_count; i++) {
        struct lm_op_case whole, part;
        lm_op_case_init(&whole, i);
        lm_op_case_init(&part, i);
        run(&whole, *state, true);
        for (size_t left_out = 0; left_out < part.count && !part.large; left_out++) {
            int flags = part.arrays[left_out].flags;
            if (!(flags & LM_OP_OPTIONAL) || !(flags & LM_OP_GRADIENT))
                continue;
            part.arrays[left_out].absent = true;
            run(&part, *state, true);
            part.arrays[left_out].absent = false;
            for (size_t a = 0; a < part.count; a++)
                if (a != left_out && memcmp(part.arrays[a].found, whole.arrays[a].found,
                                            part.arrays[a].count * sizeof(double)) != 0)
                    fail_msg("%s, %s: without %s, %s differs", part.op, part.variant,
                             part.arrays[left_out].name, part.arrays[a].name);
            checked++;
        }
        lm_op_case_deinit(&whole);
        lm_op_case_deinit(&part);
    }
    assert_true(checked > 15);
}

/* What differences do not see: the forward itself, element by element from its formula. */

static double value(struct lm_op_case *c, const char *name, size_t i)
{
    return lm_op_case_find(c, name)->start[i];
}

static double embedded(struct lm_op_case *c, size_t i)
{
    size_t width = c->sizes[1];
    return value(c, "table", (size_t)value(c, "tokens", i / width) * width + i % width);
}

static double normed(struct lm_op_case *c, size_t i)
{
    size_t width = c->sizes[1], row = i / width;
    double sum = 0;
    for (size_t j = 0; j < width; j++)
        sum += pow(value(c, "x", row * width + j), 2);
    return value(c, "x", i) / sqrt(sum / (double)width + c->numbers[0]) *
           value(c, "weight", i % width);
}

static double product(struct lm_op_case *c, size_t i)
{
    size_t in = c->sizes[1], out = c->sizes[2];
    double sum = value(c, "bias", i % out);
    for (size_t j = 0; j < in; j++)
        sum += value(c, "x", i / out * in + j) * value(c, "weight", i % out * in + j);
    return c->numbers[0] * sum + value(c, "addend", i);
}

static double turned(struct lm_op_case *c, size_t i)
{
    size_t width = c->sizes[2], half = width / 2, d = i % width;
    size_t at = (size_t)value(c, "positions", i / width / c->sizes[1]) * half + d % half;
    double other = d < half ? -value(c, "x", i + half) : value(c, "x", i - half);
    return value(c, "x", i) * value(c, "cosine", at) + other * value(c, "sine", at);
}

static double gated(struct lm_op_case *c, size_t i)
{
    double gate = value(c, "gate", i);
    return gate / (1 + exp(-gate)) * value(c, "up", i);
}

/* softmax(0.5 · q·k) · v of one sequence's first rows to `row`, from arrays that give key j */
static double attended_by(struct lm_op_case *c, size_t i, const char *k, const char *v,
                          size_t (*place)(struct lm_op_case *, size_t row, size_t j), size_t count)
{
    size_t heads = c->sizes[2], kv = c->sizes[3], width = c->sizes[4], row = i / width / heads;
    size_t head = i / width % heads, inside = head * kv / heads * width;
    double sum = 0, total = 0;
    for (size_t j = 0; j < count; j++) {
        size_t key = place(c, row, j) * kv * width + inside;
        double score = 0;
        for (size_t d = 0; d < width; d++)
            score += value(c, "q", i / width * width + d) * value(c, k, key + d);
        total += exp(0.5 * score);
        sum += exp(0.5 * score) * value(c, v, key + i % width);
    }
    return sum / total;
}

static size_t first_of(struct lm_op_case *c, size_t row)
{
    size_t s = 0;
    while (value(c, "starts", s + 1) <= (double)row)
        s++;
    return (size_t)value(c, "starts", s);
}

static size_t packed_place(struct lm_op_case *c, size_t row, size_t j)
{
    return first_of(c, row) + j;
}

static double attended(struct lm_op_case *c, size_t i)
{
    size_t row = i / c->sizes[4] / c->sizes[2];
    return attended_by(c, i, "k", "v", packed_place, row - first_of(c, row) + 1);
}

static size_t paged_place(struct lm_op_case *c, size_t row, size_t j)
{
    size_t page = c->sizes[5];
    size_t at = (size_t)value(c, "sequence", row) * c->sizes[6] + j / page;
    return (size_t)value(c, "pages", at) * page + j % page;
}

static double attended_paged(struct lm_op_case *c, size_t i)
{
    size_t row = i / c->sizes[4] / c->sizes[2];
    return attended_by(c, i, "cache_k", "cache_v", paged_place,
                       (size_t)value(c, "positions", row) + 1);
}

static double cached(struct lm_op_case *c, size_t i)
{
    size_t size = c->sizes[3] * c->sizes[4];
    for (size_t row = 0; row < c->sizes[0]; row++)
        if (paged_place(c, row, (size_t)value(c, "positions", row)) == i / size)
            return value(c, "k", row * size + i % size);
    return value(c, "cache_k", i);
}

static double logit(struct lm_op_case *c, size_t row, size_t v)
{
    double sum = 0;
    for (size_t j = 0; j < c->sizes[1]; j++)
        sum += value(c, "x", row * c->sizes[1] + j) * value(c, "weight", v * c->sizes[1] + j);
    return sum / c->numbers[0];
}

static double log_sum(struct lm_op_case *c, size_t row)
{
    double sum = 0;
    for (size_t v = 0; v < c->sizes[2]; v++)
        sum += exp(logit(c, row, v));
    return log(sum);
}

static double log_probability(struct lm_op_case *c, size_t i)
{
    size_t row = i / c->sizes[3];
    return logit(c, row, (size_t)value(c, "targets", i)) - log_sum(c, row);
}

static double entropy(struct lm_op_case *c, size_t row)
{
    double lse = log_sum(c, row), sum = 0;
    for (size_t v = 0; v < c->sizes[2]; v++)
        sum -= exp(logit(c, row, v) - lse) * (logit(c, row, v) - lse);
    return sum;
}

static double collision(struct lm_op_case *c, size_t row)
{
    double lse = log_sum(c, row), sum = 0;
    for (size_t v = 0; v < c->sizes[2]; v++)
        sum += pow(exp(logit(c, row, v) - lse), 2);
    return sum;
}

static double squares(struct lm_op_case *c, size_t i)
{
    double sum = 0;
    for (size_t j = 0; j < c->sizes[0]; j++)
        sum += pow(value(c, "x", j), 2);
    return sum;
}

static double stepped(struct lm_op_case *c, size_t i)
{
    double g = 0.5 * value(c, "gradient", i), weight = value(c, "weight", i);
    double m = (0.9 * value(c, "m", i) + 0.1 * g) / (1 - 0.81);
    double v = (0.95 * value(c, "v", i) + 0.05 * g * g) / (1 - 0.9025);
    return weight - 0.01 * (m / (sqrt(v) + 1e-8) + 0.1 * weight);
}

static const struct {
    const char *op, *variant, *array;
    double (*expected)(struct lm_op_case *c, size_t i);
} forwards[] = {
    {"embed", "tokens more than once", "y", embedded},
    {"rmsnorm", "added", "y", normed},
    {"rmsnorm", "in place", "x", normed},
    {"linear", "scaled", "y", product},
    {"rope", "odd", "x", turned},
    {"attention", "grouped", "y", attended},
    {"attention", "all heads", "y", attended},
    {"attention_paged", "decoding", "y", attended_paged},
    {"attention_paged", "prompts", "y", attended_paged},
    {"cache_write", "pages", "cache_k", cached},
    {"swiglu", "odd", "y", gated},
    {"swiglu", "forward in place", "gate", gated},
    {"logprob", "soft targets", "logprob", log_probability},
    {"logprob", "soft targets", "lse", log_sum},
    {"logprob", "soft targets", "entropy", entropy},
    {"logprob", "soft targets", "collision", collision},
    {"square_sum", "odd", "sum", squares},
    {"adamw", "odd", "weight", stepped},
};

static void check_forward(struct lm_op_case *c, struct lm_backend *backend, const char *name,
                          double (*expected)(struct lm_op_case *c, size_t i))
{
    run(c, backend, false);
    const struct lm_op_array *array = lm_op_case_find(c, name);
    for (size_t i = 0; i < array->count; i++) {
        double wanted = expected(c, i);
        if (fabs(array->found[i] - wanted) > 2e-6 * (1 + fabs(wanted)))
            fail_msg("%s, %s, %s[%zu]: %.9g, not %.9g", c->op, c->variant, name, i, array->found[i],
                     wanted);
    }
}

TEST(forward)
{
    for (size_t f = 0; f < COUNT(forwards); f++) {
        size_t found = 0;
        for (size_t i = 0; i < lm_op_case_count; i++) {
            struct lm_op_case c;
            lm_op_case_init(&c, i);
            if (strcmp(c.op, forwards[f].op) == 0 && strcmp(c.variant, forwards[f].variant) == 0) {
                check_forward(&c, *state, forwards[f].array, forwards[f].expected);
                found++;
            }
            lm_op_case_deinit(&c);
        }
        assert_int_equal(found, 1);
    }
}

TEST(backends)
{
    struct lm_backend *backend;
    struct err err;
    void *memory;
    assert_int_equal(lm_backend_open(&backend, "abacus", 1, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "unknown backend 'abacus'; choose one of reference, cpu"));
    assert_null(backend);
    assert_int_equal(lm_backend_alloc(*state, SIZE_MAX - 9, "the rope tables", &memory, &err),
                     ERR_LIMIT);
    assert_non_null(strstr(err.text, "no memory for the rope tables: "));
    assert_int_equal(lm_dtype_bytes(LM_F32), 4);
    assert_int_equal(lm_dtype_bytes(LM_BF16), 2);
}

int main(void)
{
    backend_name = "reference";
    int failed = tests_run();
    backend_name = "cpu";
    return failed + tests_run();
}
