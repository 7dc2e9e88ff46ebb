/* use: for how long a device was in use, and for how long by one that had it alone.
 *
 * Time counts once, however many share the device. Threads: any.
 */
#ifndef WARPGYM_JUDGE_GPU_BUSY_TIME_H
#define WARPGYM_JUDGE_GPU_BUSY_TIME_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct use {
    pthread_mutex_t lock;
    int users; /* now */
    bool alone;
    int64_t since_ns; /* up to when the sums below go */
    int64_t busy_ns, alone_ns;
};

struct use_times {
    double busy_s, alone_s;
};

void use_init(struct use *use);
void use_deinit(struct use *use);
void use_begin(struct use *use, bool alone);
void use_end(struct use *use);
/* Up to now. */
struct use_times use_read(struct use *use);

#endif
