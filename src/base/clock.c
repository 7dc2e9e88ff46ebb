#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

int64_t clock_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

double clock_ms_since(int64_t start_ns)
{
    return (double)(clock_now_ns() - start_ns) * 1e-6;
}

int clock_left_ms(int64_t deadline_ns)
{
    int64_t left = deadline_ns - clock_now_ns();
    if (left <= 0)
        return 0;
    int64_t left_ms = (left + 999999) / 1000000;
    return left_ms > 1 << 30 ? 1 << 30 : (int)left_ms;
}

void clock_condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

int64_t clock_wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void clock_text(int64_t wall_ms, char text[CLOCK_TEXT_BYTES])
{
    struct tm parts;
    time_t seconds = (time_t)(wall_ms / 1000);
    text[0] = '\0';
    if (wall_ms < 0 || !gmtime_r(&seconds, &parts) || parts.tm_year > 9999 - 1900)
        return;
    size_t length = strftime(text, CLOCK_TEXT_BYTES, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text + length, CLOCK_TEXT_BYTES - length, ".%03dZ", (int)(wall_ms % 1000));
}

uint64_t clock_secret(void)
{
    uint64_t secret;
    while (getrandom(&secret, sizeof secret, 0) != (ssize_t)sizeof secret)
        if (errno != EINTR)
            abort();
    return secret;
}

struct timespec clock_timespec(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

struct timespec clock_in_ms(int ms)
{
    struct timespec then;
    clock_gettime(CLOCK_REALTIME, &then);
    then.tv_sec += ms / 1000;
    then.tv_nsec += ms % 1000 * 1000000L;
    then.tv_sec += then.tv_nsec / 1000000000;
    then.tv_nsec %= 1000000000;
    return then;
}
