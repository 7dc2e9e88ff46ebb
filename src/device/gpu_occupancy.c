#include "device/gpu_occupancy.h"

#include "base/array.h"

#include <math.h>

#define PARTS 4
#define REGISTER_UNIT 256
#define SHARED_UNIT 128

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static uint64_t by_registers(const struct gpu_multiprocessor *each, uint64_t warps,
                             uint32_t registers)
{
    uint64_t of_warp = round_up((uint64_t)registers * (uint64_t)each->warp_threads, REGISTER_UNIT);
    return (uint64_t)each->registers / PARTS / of_warp * PARTS / warps;
}

void gpu_occupancy(const struct gpu_multiprocessor *each, uint32_t threads, uint32_t registers,
                   uint64_t shared_bytes, struct gpu_occupancy *occupancy)
{
    *occupancy = (struct gpu_occupancy){.fraction = NAN, .limit = ""};
    if (each->threads <= 0 || each->warp_threads <= 0 || each->blocks <= 0 || threads == 0 ||
        threads > (uint32_t)each->threads)
        return;
    uint64_t warps = round_up(threads, (uint64_t)each->warp_threads) / (uint64_t)each->warp_threads;
    uint64_t places = (uint64_t)(each->threads / each->warp_threads);
    uint64_t shared = round_up(shared_bytes + (uint64_t)each->reserved_bytes, SHARED_UNIT);
    const struct {
        const char *name;
        uint64_t blocks;
    } limits[] = {
        {"threads", places / warps},
        {"registers", registers ? by_registers(each, warps, registers) : UINT64_MAX},
        {"shared memory", shared ? (uint64_t)each->shared_bytes / shared : UINT64_MAX},
        {"blocks", (uint64_t)each->blocks},
    };
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < COUNT(limits); i++)
        if (limits[i].blocks < least) {
            least = limits[i].blocks;
            occupancy->limit = limits[i].name;
        }
    occupancy->blocks = (uint32_t)least;
    occupancy->fraction = (double)(least * warps) / (double)places;
}
