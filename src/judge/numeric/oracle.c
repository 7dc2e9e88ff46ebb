#include "judge/numeric/oracle.h"

#include <string.h>

static uint64_t round_up(uint64_t value, uint64_t step)
{
    return (value + step - 1) / step * step;
}

void oracle_layout(const struct layout *plain, struct layout *wide)
{
    uint64_t offset = 0;
    *wide = *plain;
    for (uint32_t i = 0; i < wide->count; i++) {
        struct layout_argument *argument = &wide->arguments[i];
        if (dtype_facts(argument->dtype)->floating)
            argument->dtype = DTYPE_F64;
        argument->offset = offset;
        offset = round_up(offset + layout_argument_bytes(argument) + LAYOUT_GUARD_BYTES, 64);
    }
    wide->bytes = round_up(offset, 4096);
}

static void widen_f32(const float *from, double *to, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        to[i] = (double)from[i];
}

void oracle_widen(const struct layout *plain, const void *slot, const struct layout *wide,
                  void *wide_slot)
{
    for (uint32_t i = 0; i < plain->count; i++) {
        const struct layout_argument *argument = &plain->arguments[i];
        const char *from = (const char *)slot + argument->offset;
        char *to = (char *)wide_slot + wide->arguments[i].offset;
        if (argument->role == ROLE_OUT)
            continue;
        if (argument->dtype == wide->arguments[i].dtype)
            memcpy(to, from, layout_argument_bytes(argument));
        else if (argument->dtype == DTYPE_F32)
            widen_f32((const float *)(const void *)from, (double *)(void *)to, argument->count);
        else
            for (uint64_t at = 0; at < argument->count; at++)
                ((double *)(void *)to)[at] = dtype_load(argument->dtype, from, at);
    }
}
