/* room: what fits into a GPU's memory. Declared in context.h.
 *
 * A call takes its arguments once for each side. Where it also takes an image of them (trial_gpu.c)
 * and answers as large as themselves, that image may have to wait on the host. How many calls one
 * clock interval takes is a question of what is free at that moment.
 */
#include "judge/context.h"

#define SIDES 2
#define SLOTS_PART 0.5  /* of what is free: the rest is for what the calls themselves need */
#define USABLE_PART 0.9 /* of all: contexts take their share */

/* False: the driver does not say. */
static bool ask_memory(const struct session *session, size_t *free_bytes, size_t *total_bytes)
{
    struct err ignored;
    return session->gpu && gpu_context_use(session->gpu, &ignored) == 0 &&
           session->gpu->cuda.memory_info(free_bytes, total_bytes) == 0;
}

int memory_budget_check(const struct session *session, struct err *err)
{
    size_t free_bytes;
    size_t total_bytes;
    uint64_t each = session->largest.bytes;
    if (!ask_memory(session, &free_bytes, &total_bytes) || each <= total_bytes / SIDES)
        return 0;
    return err_set(
        err, ERR_UNSUPPORTED,
        "a call of problem %s needs %llu bytes of the GPU's memory at the least, %llu of "
        "arguments for each of the two children, and %s has %llu: it takes a larger GPU or "
        "smaller sizes",
        session->problem->id, (unsigned long long)each * SIDES, (unsigned long long)each,
        session->gpu->facts.name, (unsigned long long)total_bytes);
}

bool memory_budget_fits_image(const struct session *session, uint64_t bytes)
{
    size_t free_bytes;
    size_t total_bytes;
    double copies = SIDES + 1 + SIDES; /* arguments, their image, and as much in answers */
    return !ask_memory(session, &free_bytes, &total_bytes) ||
           copies * (double)bytes <= USABLE_PART * (double)total_bytes;
}

double memory_budget_slots(const struct session *session, const struct trial *trial)
{
    size_t free_bytes;
    size_t total_bytes;
    bool image = trial_gpu_suits(session, trial);
    double each = (double)trial->layout.bytes * (image ? SIDES + 1 : SIDES);
    if (!ask_memory(session, &free_bytes, &total_bytes))
        return 1;
    if (trial_is_torch_on_gpu(session)) /* native outputs are among the arguments */
        for (uint32_t i = 0; i < session->answer.count; i++)
            each += (double)session->answer.plain[i].bytes * SIDES;
    return SLOTS_PART * (double)free_bytes / each;
}
