/* gpu_state: how a GPU is doing: clocks, heat, power, what holds it back, whether it is sound.
 *
 *   gpu_sensor   where to ask about one GPU; a MIG instance shares clocks and heat with its whole
 *                GPU, which is asked for those
 *   gpu_state    one reading, cheap enough for every timing
 *   gpu_watch    readings around a timing, and between its calls
 *   gpu_health   what doctor and the judge want to know before a GPU is given work
 *
 * A reading that NVML does not report is negative, and never an error. Plain data, no ownership;
 * the nvml behind a sensor must outlive it. Threads: a sensor may be read by several at once.
 */
#pragma once

#include "device/nvml.h"

struct gpu_sensor {
    const struct nvml *nvml; /* NULL: no readings */
    nvml_device self, gpu;   /* the same, unless it is a MIG instance */
    bool mig;
};

struct gpu_state { /* negative: unknown */
    int sm_mhz, sm_max_mhz, memory_mhz, memory_max_mhz, temperature_c;
    double power_w, power_limit_w;
    int64_t reasons;           /* bits of gpu_reasons */
    int64_t heat_ns, power_ns; /* counters: time below the wanted clock because of either */
};

struct gpu_health { /* negative: unknown */
    int64_t memory_free, memory_used;
    int busy_percent, processes;
    int64_t ecc_uncorrected; /* since the driver was loaded */
    int repair_pending;      /* 1: memory waits for a reset to be taken out of use */
    int repair_failed;       /* 1: its memory cannot be repaired any more */
    int mig_mode;            /* 1: it is divided into MIG instances */
    int lost;                /* 1: the driver has lost it, or asks for a reset */
};

struct gpu_watch {
    bool known; /* whether anything is */
    const struct gpu_sensor *sensor;
    struct gpu_state before, after;
    int sm_lowest_mhz;
    int64_t reasons; /* of all readings together */
};

/* nvmlClocksEventReasons; ends with a NULL name. */
struct gpu_reason {
    int64_t bit;
    const char *name;
    bool slows; /* times mean less: the others say why a clock is what it is */
};
#define GPU_REASON_HEAT 0x20 /* software thermal slowdown */
extern const struct gpu_reason gpu_reasons[];

/* `uuid` as in struct gpu. If NVML does not list the GPU, all its readings are unknown. */
void gpu_sensor_open(struct gpu_sensor *sensor, const struct nvml *nvml, const char *uuid);
/* The number in the name of its device file, /dev/nvidia3. */
int gpu_sensor_minor(const struct gpu_sensor *sensor);
void gpu_sensor_read(const struct gpu_sensor *sensor, struct gpu_state *state);
void gpu_sensor_examine(const struct gpu_sensor *sensor, struct gpu_health *health);
/* Why no work should be given to it: a sentence; NULL: nothing is known against it. */
const char *gpu_health_complaint(const struct gpu_health *health);

void gpu_watch_begin(struct gpu_watch *watch, const struct gpu_sensor *sensor);
void gpu_watch_look(struct gpu_watch *watch);
void gpu_watch_end(struct gpu_watch *watch);
/* The reasons that slowed it, "hardware thermal slowdown, power brake"; "" for none. */
void gpu_watch_slowed(const struct gpu_watch *watch, char *text, size_t text_bytes);
