/* busy_time: for how long a device was in use, and for how long exclusively.
 *
 * Time counts once, however many share the device. Ownership: the caller's storage. Threads: any.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct busy_time {
    pthread_mutex_t lock;
    int users; /* now */
    bool alone;
    int64_t since_ns; /* up to when the sums below go */
    int64_t busy_ns, alone_ns;
};

struct busy_times {
    double busy_s, alone_s;
};

void busy_time_init(struct busy_time *busy);
void busy_time_deinit(struct busy_time *busy);
void busy_time_begin(struct busy_time *busy, bool alone);
void busy_time_end(struct busy_time *busy);
/* Up to now. */
struct busy_times busy_time_read(struct busy_time *busy);
