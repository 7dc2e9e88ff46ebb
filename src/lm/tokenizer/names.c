#include "lm/tokenizer/names.h"

#include "base/mem.h"
#include "lm/tokenizer/mix.h"

void names_init(struct names *names, size_t most, uint64_t seed)
{
    size_t slots = 16;
    while (slots < 2 * most)
        slots *= 2;
    *names = (struct names){mem_alloc(slots * sizeof *names->slots), slots - 1, seed};
}

void names_deinit(struct names *names)
{
    mem_free(names->slots);
    *names = (struct names){0};
}

/* The string's slot, or the free one where it belongs. */
static struct name *slot_of(const struct names *names, const char *bytes, size_t count)
{
    size_t at = mix_bytes(names->seed, bytes, count) & names->mask;
    for (;; at = (at + 1) & names->mask) {
        struct name *slot = &names->slots[at];
        if (!slot->bytes || (slot->count == count && memcmp(slot->bytes, bytes, count) == 0))
            return slot;
    }
}

bool names_put(struct names *names, const char *bytes, size_t count, int32_t id)
{
    struct name *slot = slot_of(names, bytes, count);
    if (slot->bytes)
        return false;
    *slot = (struct name){bytes, (uint32_t)count, id};
    return true;
}

int32_t names_find(const struct names *names, const char *bytes, size_t count)
{
    const struct name *slot = slot_of(names, bytes, count);
    return slot->bytes ? slot->id : -1;
}
