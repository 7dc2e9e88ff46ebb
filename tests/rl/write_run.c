/* write_run DIRECTORY STEPS WAIT_MS [KEY=VALUE…]: a made-up training run, WAIT_MS for each step; it
 * goes on where it was. For run_checks.py and
 * test_runs.py. */
#include "run_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static useconds_t wait_us;

static void wait_a_bit(void)
{
    usleep(wait_us);
}

int main(int argc, char **argv)
{
    struct settings settings;
    struct err err = {0};
    if (argc < 4)
        return 2;
    settings_init(&settings);
    int result = 0;
    for (int i = 4; i < argc && result == 0; i++)
        result = settings_assign(&settings, argv[i], &err);
    wait_us = (useconds_t)strtoul(argv[3], NULL, 10) * 1000;
    if (result == 0)
        result = writer_run(argv[1], &settings, strtoull(argv[2], NULL, 10), wait_a_bit, &err);
    if (result < 0)
        fprintf(stderr, "%s\n", err.text);
    settings_deinit(&settings);
    return result < 0;
}
