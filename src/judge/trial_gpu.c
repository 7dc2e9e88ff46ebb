/* trial_gpu: timed calls whose inputs are made and whose outputs are compared on the GPU.
 *
 *   fill ─► staging ─┬─ copy ─► arrays R ─► call ─┬─► compare, guards ─► findings
 *                    └─ copy ─► arrays C ─► call ─┘
 *
 * Staging is the image of all slots as a side gets them: inputs, poisoned outputs, guards. Only the
 * inputs in it ever change. Declared in context.h.
 */
#include "judge/context.h"

#include "base/clock.h"
#include "problem/fill.h"

#include <string.h>

static bool suits(const struct layout *layout)
{
    struct fill_plan ignored;
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct layout_argument *argument = &layout->arguments[i];
        if (layout_is_array(argument) && argument->role != ROLE_OUT &&
            !fill_plan_of(&ignored, argument, i, 0))
            return false;
    }
    return true;
}

static uint64_t finding_bytes(const struct session *session)
{
    return (uint64_t)session->candidate.slots * session->candidate.layout.count *
           sizeof(struct gpu_finding);
}

bool trial_gpu_begin(struct session *session, const struct trial *trial)
{
    struct gpu_staging *staging = &session->gpu_staging;
    const struct layout *layout = &trial->layout;
    struct err err;
    uint64_t bytes = trial->slots * layout->bytes;
    if (!session->gpu || session->judge->work.gpu != session->gpu || !suits(layout))
        return false;
    trial_stage_poison(session);
    if (staging->image.bytes < bytes) {
        gpu_memory_free(&staging->image);
        if (gpu_memory_make(&staging->image, session->gpu, bytes, &err) < 0)
            return false;
    }
    if (staging->findings.bytes < finding_bytes(session)) {
        gpu_memory_free(&staging->findings);
        if (gpu_memory_make(&staging->findings, session->gpu, finding_bytes(session), &err) < 0)
            return false;
    }
    return gpu_memory_write(&staging->image, 0, session->staging, bytes, &err) == 0;
}

void trial_gpu_end(struct session *session)
{
    gpu_memory_free(&session->gpu_staging.image);
    gpu_memory_free(&session->gpu_staging.findings);
}

static int fill_one(struct session *session, uint32_t slot, uint64_t seed, struct err *err)
{
    const struct layout *layout = &session->candidate.layout;
    uint64_t start = slot * layout->bytes;
    int result = 0;
    for (uint32_t i = 0; result == 0 && i < layout->count; i++) {
        const struct layout_argument *argument = &layout->arguments[i];
        struct fill_plan plan;
        if (!layout_is_array(argument))
            fill_argument(argument, i, seed, session->staging + start);
        else if (fill_plan_of(&plan, argument, i, seed))
            result = gpu_work_fill(&session->judge->work, &plan, argument->count,
                                   session->gpu_staging.image.address + start + argument->offset,
                                   err);
    }
    return result;
}

int trial_gpu_prepare(struct session *session)
{
    struct err err;
    int result = 0;
    for (uint32_t slot = 0; result == 0 && slot < session->candidate.slots; slot++)
        result = fill_one(session, slot, clock_secret(), &err);
    if (result == 0)
        result = gpu_work_wait(&session->judge->work, &err);
    return result < 0 ? fault_judge(session, &err) : 0;
}

int trial_gpu_lay_out(const struct session *session, struct side *side, struct err *err)
{
    const struct layout *layout = &side->layout;
    const struct cuda *cuda = &session->gpu->cuda;
    for (uint32_t slot = 0; slot < side->slots; slot++)
        for (uint32_t i = 0; i < layout->count; i++)
            if (!layout_is_array(&layout->arguments[i])) {
                uint64_t at = slot * layout->bytes + layout->arguments[i].offset;
                memcpy(side->slot.data + at, session->staging + at, 8);
            }
    int result = cuda_check(cuda,
                            cuda->copy_on_device(side->arrays.address,
                                                 session->gpu_staging.image.address,
                                                 side->slots * layout->bytes),
                            "cannot copy inputs on the GPU", err);
    return result < 0 ? result : gpu_work_wait(&session->judge->work, err);
}

static int compare_slot(struct session *session, uint32_t slot, struct err *err)
{
    const struct layout *layout = &session->candidate.layout;
    const struct gpu_work *work = &session->judge->work;
    cuda_at expected = session->reference.arrays.address + slot * layout->bytes;
    cuda_at got = session->candidate.arrays.address + slot * layout->bytes;
    cuda_at found = session->gpu_staging.findings.address +
                    (uint64_t)slot * layout->count * sizeof(struct gpu_finding);
    uint32_t output = 0;
    int result = 0;
    for (uint32_t i = 0; result == 0 && i < layout->count; i++) {
        const struct layout_argument *argument = &layout->arguments[i];
        cuda_at mine = found + i * sizeof(struct gpu_finding);
        if (!layout_is_array(argument))
            continue;
        result = gpu_work_guard(work, got + argument->offset + layout_argument_bytes(argument),
                                LAYOUT_GUARD_BYTES, TRIAL_GUARD_BYTE, mine, err);
        if (result < 0 || !layout_is_output(argument))
            continue;
        struct tolerance tolerance = trial_tolerance(session->problem, output, argument->dtype);
        struct gpu_comparison rule = {.count = argument->count,
                                      .dtype = argument->dtype,
                                      .exact = tolerance.exact,
                                      .scale_rms = tolerance.scale == SCALE_RMS,
                                      .relative = tolerance.relative +
                                                  session->answer.own_error[output],
                                      .absolute = tolerance.absolute};
        output++;
        result = gpu_work_compare(work, &rule, expected + argument->offset, got + argument->offset,
                                  mine, err);
    }
    return result;
}

int trial_gpu_agrees(struct session *session, bool *agrees)
{
    struct err err;
    const struct gpu_memory *findings = &session->gpu_staging.findings;
    uint64_t bytes = finding_bytes(session);
    struct gpu_finding *found = mem_alloc(bytes);
    int result = gpu_memory_fill(findings, 0, 0, bytes, &err);
    for (uint32_t slot = 0; result == 0 && slot < session->candidate.slots; slot++)
        result = compare_slot(session, slot, &err);
    if (result == 0)
        result = gpu_memory_read(findings, 0, found, bytes, &err);
    *agrees = result == 0;
    for (uint64_t i = 0; result == 0 && i < bytes / sizeof *found; i++)
        *agrees &= found[i].mismatches == 0;
    mem_free(found);
    return result < 0 ? fault_judge(session, &err) : 0;
}
