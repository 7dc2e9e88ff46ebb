/* Why a GPU's clock is what it is. Declared in gpu_state.h; a table alone, for readers of
 * verdicts without a GPU. */
#include "device/gpu_state.h"

#include <stddef.h>

const struct gpu_reason gpu_reasons[] = {
    {0x001, "idle", false},
    {0x002, "application clocks", false},
    {0x004, "software power cap", false},
    {0x008, "hardware slowdown", true},
    {0x010, "sync boost", false},
    {GPU_REASON_HEAT, "software thermal slowdown", true},
    {0x040, "hardware thermal slowdown", true},
    {0x080, "power brake", true},
    {0x100, "display clock", false},
    {0x200, "board limit", true},
    {0x400, "reliability", true},
    {0, NULL, false},
};
