/* clock: monotonic time, deadlines, wall-clock time and its text, secrets. */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

int64_t clock_now_ns(void); /* CLOCK_MONOTONIC */
double clock_ms_since(int64_t start_ns);
/* Milliseconds left until `deadline_ns`, at least 0, rounded up: what poll(2) takes. */
int clock_left_ms(int64_t deadline_ns);
/* Wall-clock time `ms` from now: what pthread_cond_timedwait takes. */
struct timespec clock_in_ms(int ms);
/* The time of clock_now_ns, for a condition of clock_condition_init. */
struct timespec clock_timespec(int64_t ns);
/* One that waits until times of CLOCK_MONOTONIC. */
void clock_condition_init(pthread_cond_t *condition);

int64_t clock_wall_ms(void); /* since 1970, CLOCK_REALTIME: it may be set forwards and back */
/* RFC 3339 in UTC with milliseconds, "2026-01-31T12:00:00.000Z"; empty for a time before 1970 or
 * after the year 9999. */
#define CLOCK_TEXT_BYTES 40
void clock_text(int64_t wall_ms, char text[CLOCK_TEXT_BYTES]);

/* 64 bits from the kernel's generator; ends the process where the kernel has none. */
uint64_t clock_secret(void);
