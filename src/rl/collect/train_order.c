#include "rl/collect/train_order.h"

#include "base/mem.h"
#include "rl/method/counter_random.h"

#include <math.h>
#include <stdlib.h>

double train_order_keep(const struct train_order *order, double rate)
{
    if (order->kind == TRAIN_PRIORITY)
        return isnan(rate) ? 1 : 1 - rate;
    if (order->kind != TRAIN_MODERATE || isnan(rate))
        return 1;
    return rate < order->low ? 0.05 * (1 - rate) : rate > order->high ? 0.1 * (1 - rate) : 1;
}

struct weighed {
    size_t index;
    double fresh, near, key;
};

static int compare_keys(const void *left, const void *right)
{
    const struct weighed *a = left, *b = right;
    if (a->key != b->key)
        return a->key > b->key ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

void train_order_draw(const struct train_order *order, const struct problem_records *records,
                      uint64_t seed, uint64_t draw, size_t count, size_t *chosen)
{
    struct weighed *all = mem_alloc((records->count + 1) * sizeof *all);
    double most_fresh = 0, most_near = 0;
    for (size_t i = 0; i < records->count; i++) {
        const struct problem_record *record = &records->list[i];
        double off = isnan(record->rate) ? 0 : (record->rate - order->target) / order->width;
        all[i] = (struct weighed){.index = i,
                                  .fresh = 1 / ((double)record->uses + 0.01),
                                  .near = exp(-0.5 * off * off)};
        most_fresh = fmax(most_fresh, all[i].fresh);
        most_near = fmax(most_near, all[i].near);
    }
    for (size_t i = 0; i < records->count; i++) {
        double near = most_near > 0 ? all[i].near / most_near : 1;
        double weight = order->fresh * all[i].fresh / most_fresh + (1 - order->fresh) * near;
        double chance = rl_uniform(seed, draw, RL_STREAM_ORDER, i);
        all[i].key = log(weight) - log(-log(fmax(chance, 0x1p-53))); /* Gumbel's noise */
    }
    qsort(all, records->count, sizeof *all, compare_keys);
    for (size_t i = 0; i < count; i++)
        chosen[i] = all[i].index;
    mem_free(all);
}
