#include "lm/tokenizer/names.h"

#include "base/mem.h"
#include "lm/tokenizer/mix.h"

#define FIRST_SLOTS 64

void names_deinit(struct names *names)
{
    mem_free(names->slots);
    *names = (struct names){0};
}

/* The string's slot, or the free one where it belongs. */
static struct name *slot_of(const struct names *names, const char *bytes, size_t count)
{
    const size_t mask = names->slot_count - 1;
    for (size_t at = mix_bytes(names->seed, bytes, count) & mask;; at = (at + 1) & mask) {
        struct name *slot = &names->slots[at];
        if (!slot->bytes || (slot->count == count && memcmp(slot->bytes, bytes, count) == 0))
            return slot;
    }
}

static void grow(struct names *names)
{
    const struct names old = *names;
    names->slot_count = old.slot_count ? 2 * old.slot_count : FIRST_SLOTS;
    names->slots = mem_alloc(names->slot_count * sizeof *names->slots);
    for (size_t i = 0; i < old.slot_count; i++)
        if (old.slots[i].bytes)
            *slot_of(names, old.slots[i].bytes, old.slots[i].count) = old.slots[i];
    mem_free(old.slots);
}

bool names_put(struct names *names, const char *bytes, size_t count, int32_t id)
{
    if (2 * (names->count + 1) > names->slot_count)
        grow(names);
    struct name *slot = slot_of(names, bytes, count);
    if (slot->bytes)
        return false;
    names->count++;
    *slot = (struct name){bytes, (uint32_t)count, id};
    return true;
}

int32_t names_find(const struct names *names, const char *bytes, size_t count)
{
    const struct name *slot = names->slots ? slot_of(names, bytes, count) : NULL;
    return slot && slot->bytes ? slot->id : -1;
}
