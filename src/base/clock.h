/* clock: monotonic time, deadlines, secrets. */
#ifndef WARPGYM_BASE_CLOCK_H
#define WARPGYM_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

int64_t clock_now_ns(void); /* CLOCK_MONOTONIC */
double clock_ms_since(int64_t start_ns);
/* Milliseconds left until `deadline_ns`, at least 0, rounded up: what poll(2) takes. */
int clock_left_ms(int64_t deadline_ns);
/* Wall-clock time `ms` from now: what pthread_cond_timedwait takes. */
struct timespec clock_in_ms(int ms);

/* 64 bits from the kernel's generator; ends the process where the kernel has none. */
uint64_t clock_secret(void);

#endif
