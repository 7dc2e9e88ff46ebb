/* write_events DIRECTORY FIRST COUNT: an event file with the steps FIRST … FIRST + COUNT - 1, for
 * tensorboard_checks.py. COUNT 0: until somebody kills it, one step a millisecond with a long text.
 * */
#include "rl/run/event_file.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONG ((size_t)1 << 14)

static int write_step(struct event_file *events, uint64_t step, const char *text, struct err *err)
{
    double values[64];
    int result = event_file_scalar(events, step, "Reward/Mean", (double)step / 2, err);
    for (size_t i = 0; i < 64; i++)
        values[i] = (double)step + (double)i;
    if (result == 0)
        result = event_file_scalar(events, step, "Größe/σ", -1, err);
    if (result == 0)
        result = event_file_text(events, step, "Best", text, err);
    if (result == 0)
        result = event_file_histogram(events, step, "Distributions/Rewards", values, 64, err);
    return result;
}

int main(int argc, char **argv)
{
    static const struct event_file_hparam hparams[] = {{"learning_rate", NULL, 0.5},
                                                       {"model", "tiny", 0},
                                                       {"steps", NULL, 3}};
    struct event_file events;
    struct err err = {0};
    if (argc != 4)
        return 2;
    uint64_t first = strtoull(argv[2], NULL, 10);
    uint64_t count = strtoull(argv[3], NULL, 10);
    char *text = mem_alloc(LONG + 1);
    if (event_file_open(&events, argv[1], first, &err) < 0)
        return fprintf(stderr, "%s\n", err.text), mem_free(text), 1;
    memset(text, 'x', count ? 5 : LONG);
    int result = event_file_hparams(&events, "a run", hparams, 3, &err);
    for (uint64_t i = 0; result == 0 && (count == 0 || i < count); i++)
        result = count == 0 && usleep(1000) < 0 ? -1 : write_step(&events, first + i, text, &err);
    if (result < 0)
        fprintf(stderr, "%s\n", err.text);
    event_file_close(&events);
    mem_free(text);
    return result < 0;
}
