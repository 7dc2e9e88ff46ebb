/* clock: monotonic time, deadlines, secrets. */
#ifndef WARPGYM_BASE_CLOCK_H
#define WARPGYM_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

int64_t clock_now_ns(void); /* CLOCK_MONOTONIC */
double clock_ms_since(int64_t start_ns);
/* Milliseconds left until `deadline_ns`, at least 0, rounded up: what poll(2) takes. */
int clock_left_ms(int64_t deadline_ns);

/* 64 bits from the kernel's generator; ends the process where the kernel has none. */
uint64_t clock_secret(void);

#endif
