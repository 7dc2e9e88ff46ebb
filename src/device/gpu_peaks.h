/* gpu_peaks: the most that a GPU can move and calculate.
 *
 * As for peaks.h, a peak must never be too low: a floor that is too high refuses honest candidates.
 * What a short kernel measures is less than what a good one reaches (on Hopper mma.sync gets half
 * of what wgmma gets), so a bound is
 *
 *   memory        by bus and clock, or what was measured, whichever is more
 *   L2            what was measured, half as much again; GPU_PEAKS_CACHES times the memory where
 *                 nothing was
 *   arithmetic    multiprocessors x highest clock x operations a clock, from a table by compute
 *                 capability, or what was measured; a GPU that the table lacks has no such bound
 *
 * and GPU_PEAKS_MARGIN comes on top. The floor supposes that L2 is full of the data before the
 * call, and that what the call wrote last stays there.
 *
 * Measuring takes about 50 ms and wants the GPU alone (device_lock, exclusive). Kept in the state
 * directory under UUID and driver; a figure that is far below what the GPU should do (it was busy)
 * is measured again by the next processes, and maxima are kept. Threads: one at a time.
 */
#pragma once

#include "device/gpu_context.h"

#define GPU_PEAKS_MARGIN 1.5
#define GPU_PEAKS_CACHES 4
#define GPU_PEAKS_RUNS_MAX 5

/* X(symbol, name, kernel): bytes or operations a second */
#define GPU_PEAKS(X)                                                                               \
    X(GPU_DRAM_READ, "dram_read", "read_bytes")                                                    \
    X(GPU_DRAM_WRITE, "dram_write", "write_bytes")                                                 \
    X(GPU_DRAM_COPY, "dram_copy", "copy_bytes")                                                    \
    X(GPU_L2_READ, "l2_read", "read_bytes")                                                        \
    X(GPU_L2_WRITE, "l2_write", "write_bytes")                                                     \
    X(GPU_L2_COPY, "l2_copy", "copy_bytes")                                                        \
    X(GPU_F32, "f32", "flops_f32")                                                                 \
    X(GPU_F64, "f64", "flops_f64")                                                                 \
    X(GPU_TF32, "tf32", "flops_tf32")                                                              \
    X(GPU_F16, "f16", "flops_f16")                                                                 \
    X(GPU_BF16, "bf16", "flops_bf16")

enum gpu_peak {
#define X(symbol, name, kernel) symbol,
    GPU_PEAKS(X)
#undef X
        GPU_PEAK_COUNT
};

struct gpu_peaks {
    double measured[GPU_PEAK_COUNT]; /* 0: not measured. A copy counts what it reads and writes */
    int runs;                        /* measurements behind the maxima; 0: bounds alone */
    bool settled;
    /* Bounds; 0: none is known. */
    double dram_bytes_per_s, l2_bytes_per_s, l2_bytes;
    double wide_flops;   /* 32-bit results; TF32 counts as one */
    double narrow_flops; /* 16- and 8-bit arithmetic will do */
};

extern const char *const gpu_peak_names[GPU_PEAK_COUNT];
extern const char gpu_peaks_source[]; /* gpu_peaks.cu */

/* Of the GPU's facts alone. */
void gpu_peaks_bound(struct gpu_peaks *peaks, const struct gpu *facts);
/* From the record. False: there is none, or it is not settled; then they are bounds alone. */
bool gpu_peaks_recall(struct gpu_peaks *peaks, const struct gpu_context *gpu,
                      const char *state_directory);
/* Recalls, or measures with the compiled gpu_peaks_source and records (`state_directory` NULL: no
 * record). On failure they are bounds alone, which will do. */
NODISCARD int gpu_peaks_get(struct gpu_peaks *peaks, const struct gpu_context *gpu,
                            const void *image, const char *state_directory, struct err *err);

/* No call that does `flops` operations and touches `bytes` bytes can take less than this many
 * milliseconds. `narrow`: arguments or tolerance let 16-bit arithmetic do. 0: nothing is known. */
double gpu_peaks_floor_ms(const struct gpu_peaks *peaks, double flops, double bytes, bool narrow);

/* The name of a peak for people, with its unit: "4.61 TB/s", "812 TFLOP/s". */
void gpu_peak_text(const struct gpu_peaks *peaks, enum gpu_peak peak, char *text, size_t bytes);
