#include "judge/measure/trial_gpu.h"

#include "base/clock.h"
#include "judge/measure/trial_compare.h"
#include "judge/process/memory_budget.h"
#include "problem/fill.h"

#include <string.h>

#define IDLE_WAIT_MS 400 /* another context that ends with a fault takes 150 */

static bool layout_suits(const struct layout *layout)
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

bool trial_gpu_suits(const struct trials *trials, const struct trial *trial)
{
    return trials->reference->child.work &&
           (trial_is_torch_on_gpu(trials) || layout_suits(&trial->layout));
}

/* Findings of one comparison of everything: one for each array of each slot, or output. */
static uint32_t findings_of(const struct trials *trials)
{
    if (trial_is_torch_on_gpu(trials))
        return WIRE_OUTPUTS;
    return trials->reference->child.slots * trials->reference->child.layout.count;
}

static int make_gpu_memory(struct trials *trials, struct gpu_memory *memory, uint64_t bytes,
                           struct err *err)
{
    if (memory->bytes >= bytes && memory->gpu == trials->gpu)
        return 0;
    gpu_memory_free(memory);
    return gpu_memory_make(memory, trials->gpu, bytes, err);
}

static int make_findings(struct trials *trials, struct err *err)
{
    return make_gpu_memory(trials, &trials->state->gpu.findings,
                           findings_of(trials) * sizeof(struct gpu_finding), err);
}

int trial_gpu_make_image(struct trials *trials, const struct trial *trial, struct err *err)
{
    uint32_t slots = trial->slots ? trial->slots : 1;
    struct gpu_staging *staging = &trials->state->gpu;
    uint64_t bytes = slots * trial->layout.bytes;
    int result = 0;
    staging->image_on_host = !memory_budget_fits_image(trials->gpu, bytes);
    if (staging->image_on_host) {
        gpu_memory_free(&staging->image);
        trial_make_staging(trials);
    } else {
        result = make_gpu_memory(trials, &staging->image, bytes, err);
    }
    return result < 0 ? result : make_findings(trials, err);
}

int trial_gpu_stage(struct trials *trials, struct err *err)
{
    const struct child *child = &trials->reference->child;
    const struct cuda *cuda = &trials->gpu->cuda;
    if (trials->state->gpu.image_on_host)
        return gpu_memory_read(&child->arrays, 0, trials->state->staging,
                               child->slots * child->layout.bytes, err);
    int result = cuda_check(cuda,
                            cuda->copy_on_device(trials->state->gpu.image.address,
                                                 child->arrays.address,
                                                 child->slots * child->layout.bytes),
                            "cannot keep the inputs", err);
    return result < 0 ? result : gpu_work_wait(child->work, err);
}

/* As trial_inputs.c's poison_slot, in all slots of the image; inputs are written over it. */
static int poison_image(const struct gpu_memory *image, const struct trial *trial, struct err *err)
{
    const struct layout *layout = &trial->layout;
    const struct cuda *cuda = &image->gpu->cuda;
    cuda_result result = cuda->fill(image->address, TRIAL_POISON_BYTE,
                                    trial->slots * layout->bytes);
    for (uint32_t at = 0; result == 0 && at < trial->slots * layout->count; at++) {
        const struct layout_argument *argument = &layout->arguments[at % layout->count];
        cuda_at start = image->address + at / layout->count * layout->bytes + argument->offset;
        result = cuda->fill(start + layout_argument_bytes(argument), TRIAL_GUARD_BYTE,
                            LAYOUT_GUARD_BYTES);
    }
    return cuda_check(cuda, result, "cannot spoil outputs on the GPU", err);
}

bool trial_gpu_begin(struct trials *trials, const struct trial *trial)
{
    struct gpu_staging *staging = &trials->state->gpu;
    const struct layout *layout = &trial->layout;
    struct err err;
    uint64_t bytes = trial->slots * layout->bytes;
    if (!trial_gpu_suits(trials, trial))
        return false;
    if (trial_is_torch_on_gpu(trials))
        return true;
    trial_make_staging(trials);
    staging->image_on_host = false;
    return make_gpu_memory(trials, &staging->image, bytes, &err) == 0 &&
           make_findings(trials, &err) == 0 && poison_image(&staging->image, trial, &err) == 0;
}

void trial_gpu_end(struct trials *trials)
{
    gpu_memory_free(&trials->state->gpu.image);
    gpu_memory_free(&trials->state->gpu.findings);
}

/* One argument, of all slots. */
static int fill_one(struct trials *trials, uint32_t index, const uint64_t *seeds, struct err *err)
{
    const struct layout *layout = &trials->reference->child.layout;
    const struct layout_argument *argument = &layout->arguments[index];
    uint32_t slots = trials->reference->child.slots;
    uint64_t keys[WIRE_SLOTS];
    struct fill_plan plan;
    if (!layout_is_array(argument)) {
        for (uint32_t i = 0; i < slots; i++)
            fill_argument(argument, index, seeds[i], trials->state->staging + i * layout->bytes);
        return 0;
    }
    for (uint32_t i = 0; i < slots; i++) { /* plans differ by their keys alone */
        if (!fill_plan_of(&plan, argument, index, seeds[i]))
            return 0; /* an output */
        keys[i] = plan.key;
    }
    return gpu_work_fill(trials->reference->child.work, &plan, keys, slots, argument->count,
                         trials->state->gpu.image.address + argument->offset, layout->bytes, err);
}

int trial_gpu_prepare(struct trials *trials)
{
    struct err err;
    uint64_t seeds[WIRE_SLOTS] = {0};
    int result = 0;
    for (uint32_t slot = 0; slot < trials->reference->child.slots; slot++)
        seeds[slot] = clock_secret();
    for (uint32_t i = 0; result == 0 && i < trials->reference->child.layout.count; i++)
        result = fill_one(trials, i, seeds, &err);
    if (result == 0)
        result = gpu_work_wait(trials->reference->child.work, &err);
    return result < 0 ? fault_set(trials->fault, FAULT_JUDGE, &err) : 0;
}

int trial_gpu_lay_out(const struct trials *trials, struct child *child, struct err *err)
{
    const struct layout *layout = &child->layout;
    for (uint32_t slot = 0; slot < child->slots; slot++)
        for (uint32_t i = 0; i < layout->count; i++)
            if (!layout_is_array(&layout->arguments[i])) {
                uint64_t at = slot * layout->bytes + layout->arguments[i].offset;
                memcpy(child->slot.data + at, trials->state->staging + at, 8);
            }
    if (!child->work)
        return err_set(err, ERR_INTERNAL, "there are no kernels to copy inputs with");
    uint64_t bytes = child->slots * layout->bytes;
    int result = trials->state->gpu.image_on_host
                     ? gpu_memory_write(&child->arrays, 0, trials->state->staging, bytes, err)
                     : gpu_work_copy(child->work, trials->state->gpu.image.address,
                                     child->arrays.address, bytes, err);
    if (result == 0) /* each call finds its inputs in memory */
        result = gpu_work_sweep(child->work, err);
    return result < 0 ? result : gpu_work_wait(child->work, err);
}

int trial_gpu_lay_out_again(const struct trials *trials, const struct trial *trial, struct err *err)
{
    const struct child *child = trials->candidate;
    uint64_t slots = trial->warm_ups < child->slots ? trial->warm_ups : child->slots;
    int result = gpu_work_copy(child->work, trials->state->gpu.image.address, child->arrays.address,
                               slots * child->layout.bytes, err);
    return result < 0 ? result : gpu_work_wait(child->work, err);
}

/* One array, of all slots: what lies behind it, and the output in it. */
static int compare_argument(struct trials *trials, uint32_t index, uint32_t output, cuda_at found,
                            struct err *err)
{
    const struct layout *layout = &trials->reference->child.layout;
    const struct layout_argument *argument = &layout->arguments[index];
    const struct gpu_work *work = trials->reference->child.work;
    cuda_at expected = trials->reference->child.arrays.address + argument->offset;
    cuda_at got = trials->candidate->arrays.address + argument->offset;
    uint32_t slots = trials->reference->child.slots;
    struct gpu_pair pairs[WIRE_SLOTS];
    int result = gpu_work_guard(work, got + layout_argument_bytes(argument), layout->bytes, slots,
                                LAYOUT_GUARD_BYTES, TRIAL_GUARD_BYTE, found, err);
    if (result < 0 || !layout_is_output(argument))
        return result;
    struct comparison spec = trial_comparison(trials, output, argument->dtype, argument->dtype,
                                              argument->count);
    for (uint32_t i = 0; i < slots; i++)
        pairs[i] = (struct gpu_pair){expected + i * layout->bytes, got + i * layout->bytes};
    return gpu_work_agree(work, &spec, pairs, slots, found, err);
}

static int compare_arguments(struct trials *trials, struct err *err)
{
    const struct layout *layout = &trials->reference->child.layout;
    uint64_t row = trials->reference->child.slots * sizeof(struct gpu_finding);
    uint32_t output = 0;
    int result = 0;
    for (uint32_t i = 0; result == 0 && i < layout->count; i++) {
        if (!layout_is_array(&layout->arguments[i]))
            continue;
        result = compare_argument(trials, i, output, trials->state->gpu.findings.address + i * row,
                                  err);
        output += layout_is_output(&layout->arguments[i]);
    }
    return result;
}

/* Pairs that follow each other and have the same form. */
struct run {
    struct comparison spec;
    struct gpu_pair pairs[WIRE_OUTPUTS];
    uint32_t count;
    cuda_at found; /* of the first */
};

static int end_run(struct trials *trials, struct run *run, struct err *err)
{
    int result = run->count == 0 ? 0
                                 : gpu_work_agree(trials->reference->child.work, &run->spec,
                                                  run->pairs, run->count, run->found, err);
    run->found += run->count * sizeof(struct gpu_finding);
    run->count = 0;
    return result;
}

/* The pair of a slot's output; false: they have not the same form. */
static bool find_pair(const struct trials *trials, uint32_t slot, uint32_t output,
                      struct comparison *spec, struct gpu_pair *pair)
{
    struct tensor want;
    struct tensor have;
    struct err ignored;
    if (child_output_form(&trials->reference->child, slot, output, &want, &ignored) < 0 ||
        child_output_form(trials->candidate, slot, output, &have, &ignored) < 0 ||
        !trial_same_form(&want, &have) || (!have.at && have.bytes > 0))
        return false;
    *spec = trial_comparison(trials, output, have.dtype, want.dtype, have.count);
    *pair = (struct gpu_pair){want.at, have.at};
    return true;
}

/* Output by output, as long as they have the same form; *agrees: so far. */
static int compare_outputs(struct trials *trials, bool *agrees, struct err *err)
{
    uint32_t slots = trials->reference->child.slots;
    struct run run = {.found = trials->state->gpu.findings.address};
    int result = 0;
    *agrees = trials->candidate->outputs.done.count ==
                  trials->reference->child.outputs.done.count &&
              trials->candidate->outputs.done.count == slots * trials->state->answer.count;
    for (uint32_t i = 0; result == 0 && *agrees && i < slots * trials->state->answer.count; i++) {
        struct comparison spec;
        struct gpu_pair pair;
        *agrees = find_pair(trials, i % slots, i / slots, &spec, &pair);
        if (!*agrees)
            break;
        if (i % slots == 0 || spec.count != run.spec.count || spec.dtype != run.spec.dtype ||
            spec.expected_dtype != run.spec.expected_dtype)
            result = end_run(trials, &run, err);
        run.spec = spec;
        run.pairs[run.count++] = pair;
    }
    return result == 0 && *agrees ? end_run(trials, &run, err) : result;
}

static int compare_all(struct trials *trials, bool *agrees, struct err *err)
{
    *agrees = true;
    return trial_is_torch_on_gpu(trials) ? compare_outputs(trials, agrees, err)
                                         : compare_arguments(trials, err);
}

int trial_gpu_agrees(struct trials *trials, bool *agrees)
{
    struct err err;
    const struct gpu_memory *findings = &trials->state->gpu.findings;
    uint64_t bytes = findings_of(trials) * sizeof(struct gpu_finding);
    struct gpu_finding *found = mem_alloc(bytes);
    int result = gpu_memory_fill(findings, 0, 0, bytes, &err);
    if (result == 0)
        result = compare_all(trials, agrees, &err);
    if (result == 0)
        result = gpu_memory_read(findings, 0, found, bytes, &err);
    for (uint64_t i = 0; result == 0 && i < bytes / sizeof *found; i++)
        *agrees &= found[i].mismatches == 0;
    mem_free(found);
    return result < 0 ? fault_set(trials->fault, FAULT_JUDGE, &err) : 0;
}

static int find_difference(struct trials *trials, const struct comparison *spec,
                           const struct tensor *expected, const struct tensor *got,
                           struct gpu_finding *finding, struct err *err)
{
    const struct gpu_memory *findings = &trials->state->gpu.findings;
    int result = gpu_memory_fill(findings, 0, 0, sizeof *finding, err);
    if (result == 0)
        result = gpu_work_compare(trials->reference->child.work, spec, expected->at, got->at,
                                  findings->address, err);
    return result < 0 ? result : gpu_memory_read(findings, 0, finding, sizeof *finding, err);
}

int trial_gpu_compare(struct trials *trials, const struct comparison *spec,
                      const struct tensor *expected, const struct tensor *got,
                      struct difference *difference, struct err *err)
{
    struct gpu_finding finding;
    int result = find_difference(trials, spec, expected, got, &finding, err);
    if (result == 0)
        gpu_work_difference(spec, &finding, difference);
    return result;
}

int trial_gpu_all_finite(struct trials *trials, const struct tensor *tensor, bool *finite,
                         struct err *err)
{
    struct gpu_finding finding;
    struct comparison spec = {.dtype = tensor->dtype,
                              .expected_dtype = tensor->dtype,
                              .count = tensor->count};
    int result = find_difference(trials, &spec, tensor, tensor, &finding, err);
    if (result == 0)
        *finite = finding.finite == tensor->count;
    return result;
}

/* How long a kernel that does nothing takes. Work that ends by itself meanwhile is passed over. */
static int measure_idle(struct trials *trials, double *ms, struct err *err)
{
    int64_t begin_ns = clock_now_ns();
    int result;
    do
        result = gpu_work_nothing(trials->reference->child.work, ms, err);
    while (result == 0 && *ms > GPU_WORK_IDLE_MS && clock_ms_since(begin_ns) < IDLE_WAIT_MS);
    return result;
}

bool trial_gpu_quiet(struct trials *trials)
{
    struct err ignored;
    double ms = 0;
    const struct child *reference = &trials->reference->child;
    return !reference->work || !reference->outputs.pinned ||
           (measure_idle(trials, &ms, &ignored) == 0 && ms <= GPU_WORK_IDLE_MS);
}

int trial_gpu_idle(struct trials *trials)
{
    struct err err;
    double busy_ms;
    double alone_ms;
    if (!trials->reference->child.work || !trials->reference->child.outputs.pinned)
        return 0;
    if (measure_idle(trials, &busy_ms, &err) < 0)
        return fault_set(trials->fault, FAULT_JUDGE, &err);
    if (busy_ms <= GPU_WORK_IDLE_MS)
        return 0;
    trial_end_candidate(trials);
    if (measure_idle(trials, &alone_ms, &err) < 0)
        return fault_set(trials->fault, FAULT_JUDGE, &err);
    bool gone = alone_ms <= GPU_WORK_IDLE_MS;
    if (gone)
        (void)!err_set(&err, ERR_IO, "an empty kernel took %.2g ms, and %.2g once it was gone",
                       busy_ms, alone_ms);
    else
        (void)!err_set(&err, ERR_IO,
                       "another process uses this GPU: an empty kernel takes %.2g ms, so nothing "
                       "can be timed here",
                       alone_ms);
    return fault_set(trials->fault, gone ? FAULT_LEFT_WORK : FAULT_BUSY_GPU, &err);
}
