#include "lm/sample/choose.h"

#include "base/mem.h"
#include "base/random.h"

#include <math.h>

/* What every answer begins with. */
struct row {
    const float *logits;
    size_t vocab;
    int32_t best;
    double lse; /* log Σ exp(logit) */
};

/* The tokens that may be sampled are the first `count` of the row's order by probability. */
struct kept {
    size_t count;
    double mass;
    bool sorted; /* chooser->order holds them, from its end; else all with mass >= floor, by id */
    float floor;
};

void chooser_init(struct chooser *chooser, size_t vocab)
{
    *chooser = (struct chooser){
        .vocab = vocab,
        .order = mem_alloc(vocab * sizeof *chooser->order),
        .mass = mem_alloc(vocab * sizeof *chooser->mass),
    };
}

void chooser_deinit(struct chooser *chooser)
{
    mem_free(chooser->order);
    mem_free(chooser->mass);
    *chooser = (struct chooser){0};
}

double choose_uniform(uint64_t seed, uint64_t position)
{
    /* Mixed before the position comes in: neighbouring seeds are to have unrelated streams. */
    uint64_t stream = random_mix(seed + RANDOM_GOLDEN);
    return random_uniform(random_mix(stream + (position + 1) * RANDOM_GOLDEN));
}

static int row_init(struct row *row, const float *logits, size_t vocab, struct err *err)
{
    size_t best = 0;
    double sum = 0;
    *row = (struct row){.logits = logits, .vocab = vocab};
    for (size_t i = 0; i < vocab; i++) {
        if (!(logits[i] < INFINITY)) /* NaN, too */
            return err_set(
                err, ERR_INPUT,
                "the logit of token %zu is %f: the model's weights hold NaN or infinity, or "
                "its sums overflow",
                i, (double)logits[i]);
        best = logits[i] > logits[best] ? i : best;
    }
    if (logits[best] == -INFINITY)
        return err_set(err, ERR_INPUT, "all logits are -infinity: no token is possible");
    for (size_t i = 0; i < vocab; i++)
        sum += (double)expf(logits[i] - logits[best]);
    row->best = (int32_t)best;
    row->lse = (double)logits[best] + log(sum);
    return 0;
}

static bool before(const float *logits, int32_t a, int32_t b)
{
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
}

/* By insertion: few are asked for, and most tokens are behind the last one. */
static void find_top(const struct row *row, struct lm_top *top, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < row->vocab; i++) {
        int32_t id = (int32_t)i;
        if (found == count && !before(row->logits, id, top[count - 1].id))
            continue;
        size_t at = found < count ? found++ : count - 1;
        for (; at > 0 && before(row->logits, id, top[at - 1].id); at--)
            top[at] = top[at - 1];
        top[at].id = id;
    }
    for (size_t i = 0; i < count; i++) {
        bool real = i < found; /* a vocabulary may be smaller than the list */
        top[i].id = real ? top[i].id : -1;
        top[i].logprob = real ? (float)((double)row->logits[top[i].id] - row->lse) : -INFINITY;
    }
}

int choose_score(const float *logits, size_t vocab, int32_t id, float *logprob, struct lm_top *top,
                 size_t top_count, struct err *err)
{
    struct row row;
    int result = row_init(&row, logits, vocab, err);
    if (result < 0)
        return result;
    *logprob = (float)((double)logits[id] - row.lse);
    if (top_count > 0)
        find_top(&row, top, top_count);
    return 0;
}

static void sift(const float *logits, int32_t *heap, size_t count, size_t at)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count)
            return;
        if (child + 1 < count && before(logits, heap[child + 1], heap[child]))
            child++;
        if (!before(logits, heap[child], heap[at]))
            return;
        int32_t moved = heap[at];
        heap[at] = heap[child];
        heap[child] = moved;
        at = child;
    }
}

/* The most probable first, only as many as are needed: a heap costs vocab + k·log vocab steps. */
static void keep_sorted(const struct chooser *chooser, const struct row *row,
                        const struct lm_sampling *sampling, double total, struct kept *kept)
{
    size_t vocab = row->vocab, taken = 0;
    size_t most = sampling->top_k > 0 && sampling->top_k < vocab ? sampling->top_k : vocab;
    double sum = 0, wanted = sampling->top_p * total;
    int32_t *order = chooser->order;
    for (size_t i = 0; i < vocab; i++)
        order[i] = (int32_t)i;
    for (size_t i = vocab / 2; i > 0; i--)
        sift(row->logits, order, vocab, i - 1);
    while (taken < most && (most < vocab || sum < wanted || taken == 0)) {
        size_t last = vocab - 1 - taken++;
        int32_t id = order[0];
        order[0] = order[last];
        order[last] = id;
        sift(row->logits, order, last, 0);
        sum += (double)chooser->mass[id];
    }
    if (most < vocab)
        wanted = sampling->top_p * sum; /* top_p is of what top_k left */
    *kept = (struct kept){.sorted = true};
    do
        kept->mass += (double)chooser->mass[order[vocab - 1 - kept->count++]];
    while (kept->count < taken && kept->mass < wanted);
    for (; kept->count > 1; kept->count--) {
        float rarest = chooser->mass[order[vocab - kept->count]];
        if (rarest >= (float)sampling->min_p)
            break;
        kept->mass -= (double)rarest;
    }
}

static void keep(const struct chooser *chooser, const struct row *row,
                 const struct lm_sampling *sampling, struct kept *kept)
{
    const float highest = row->logits[row->best];
    double total = 0;
    for (size_t i = 0; i < row->vocab; i++) {
        float mass = expf((float)((double)(row->logits[i] - highest) / sampling->temperature));
        chooser->mass[i] = mass;
        total += (double)mass;
    }
    if ((sampling->top_k > 0 && sampling->top_k < row->vocab) || sampling->top_p < 1) {
        keep_sorted(chooser, row, sampling, total, kept);
        return;
    }
    *kept = (struct kept){.floor = (float)sampling->min_p};
    for (size_t i = 0; i < row->vocab; i++) {
        bool stays = chooser->mass[i] >= kept->floor;
        kept->count += stays;
        kept->mass += stays ? (double)chooser->mass[i] : 0;
    }
}

/* The first one at which the masses so far exceed uniform · all; what has no mass is never met. */
static int32_t draw(const struct chooser *chooser, const struct row *row, const struct kept *kept,
                    double uniform)
{
    const double wanted = uniform * kept->mass;
    const size_t count = kept->sorted ? kept->count : row->vocab;
    int32_t last = row->best;
    double sum = 0;
    for (size_t i = 0; i < count && sum <= wanted; i++) {
        int32_t id = kept->sorted ? chooser->order[row->vocab - 1 - i] : (int32_t)i;
        float mass = chooser->mass[id];
        if (mass <= 0 || (!kept->sorted && mass < kept->floor))
            continue;
        sum += (double)mass;
        last = id;
    }
    return last;
}

int choose(struct chooser *chooser, const float *logits, const struct lm_sampling *sampling,
           double uniform, int32_t *id, float *logprob, struct lm_top *top, struct err *err)
{
    struct row row;
    struct kept kept = {.count = 1, .mass = 1};
    int result = row_init(&row, logits, chooser->vocab, err);
    if (result < 0)
        return result;
    *id = row.best;
    if (sampling->temperature > 0) {
        keep(chooser, &row, sampling, &kept);
        *id = draw(chooser, &row, &kept, uniform);
    }
    if (sampling->top_logprobs > 0)
        find_top(&row, top, sampling->top_logprobs);
    *logprob = (float)((double)logits[*id] - row.lse);
    if (!sampling->processed)
        return 0;
    /* log(exp((logit - highest) / temperature) / mass), without the underflow of the first. */
    const double temperature = sampling->temperature > 0 ? sampling->temperature : 1;
    double lse = log(kept.mass);
    double highest = (double)logits[row.best];
    *logprob = (float)(((double)logits[*id] - highest) / temperature - lse);
    for (size_t i = 0; i < sampling->top_logprobs; i++)
        top[i].logprob = i < kept.count && top[i].id >= 0
                             ? (float)(((double)logits[top[i].id] - highest) / temperature - lse)
                             : -INFINITY;
    return 0;
}
