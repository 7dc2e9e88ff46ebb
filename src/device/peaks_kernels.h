/* peaks_kernels: the loops that peaks.c times, for the widest instruction set of this CPU.
 *
 * Each does nothing but what is measured, from as many independent registers as it takes to hide
 * latency. Pure; any number of threads at once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PEAKS_READ_BYTES 512 /* a buffer's size and alignment are multiples of this and of 64 */

struct peaks_kernels {
    const char *name;
    void (*read)(const char *buffer, size_t bytes);
    void (*f32)(uint64_t rounds);
    void (*f64)(uint64_t rounds);
    double f32_per_round, f64_per_round; /* operations */
    /* What the real peak may exceed these loops by: 1 where they are hand-written. */
    double doubt;
};

const struct peaks_kernels *peaks_kernels_here(void);
