/* peaks: the most that this machine can move and calculate, measured.
 *
 * The roofline floor (docs/design/judging.md) rejects a time below what the hardware can do, so a
 * peak must never be too low: a floor that is too high refuses honest candidates. Therefore
 *
 *   - every figure is the best of many windows of about 0.1 ms, so that preemption and neighbours
 *     spoil windows, not the figure, and the sum over cores of each core's own best;
 *   - measured on a busy machine, the record stays open: the next processes measure again and the
 *     maxima are kept (PEAKS_RUNS_MAX times at most);
 *   - on top comes PEAKS_MARGIN;
 *   - the floor supposes that every cache holds as much of the data as fits, before the call, and
 *     that all levels deliver at once.
 *
 * Measuring takes at most about 150 ms. The result is kept in the state directory, under the CPU's
 * model and core count. Threads: peaks_get may be called from several threads and processes at
 * once; the record is replaced atomically.
 */
#pragma once

#include "base/err.h"
#include "device/cpu.h"

#include <stdbool.h>

#define PEAKS_MARGIN 1.5
#define PEAKS_RUNS_MAX 5

enum peaks_level { PEAKS_L1, PEAKS_L2, PEAKS_L3, PEAKS_DRAM, PEAKS_LEVELS };

struct peaks {
    int cores;
    double bytes_per_s[PEAKS_LEVELS];    /* all cores together, reading; 0: no such level */
    double capacity_bytes[PEAKS_LEVELS]; /* of all instances; DRAM: infinite */
    double f32_flops, f64_flops;         /* per second, fused multiply-add = 2 */
    double narrow_flops; /* dot products of 16-bit floats and 8-bit integers, where this CPU has
                            instructions for them; at least f32_flops. An upper estimate */
    int runs;            /* measurements behind the maxima */
    bool settled;        /* measured on a quiet machine, or PEAKS_RUNS_MAX times */
};

/* From the record in `state_directory`, or measured and recorded there (NULL: no record). A record
 * that cannot be read or written costs only the measurement; ERR_IO: no thread could be started. */
NODISCARD int peaks_get(struct peaks *peaks, const char *state_directory, struct err *err);
/* From the record alone, settled or not; false: there is none. */
bool peaks_recall(struct peaks *peaks, const char *state_directory);
NODISCARD int peaks_measure(struct peaks *peaks, const struct cpu *cpu, struct err *err);

/* No call that does `flops` operations in 32-bit floats or wider, and touches `bytes` bytes, can
 * take less than this many milliseconds here. 0 when nothing is known. */
double peaks_floor_ms(const struct peaks *peaks, double flops, double bytes);
/* The same where 16-bit or 8-bit arithmetic is good enough for the problem's tolerance. */
double peaks_floor_narrow_ms(const struct peaks *peaks, double flops, double bytes);
