#include "judge/open/torch.h"

#include "base/file.h"
#include "judge/process/memory_budget.h"
#include "judge/request/judge_settings.h"
#include "sandbox/memory_use.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define GIB ((double)(1 << 30))
#define SIZES_MS 5000 /* forms take less, and an evaluation can do without them */
#define SIZES_BYTES ((uint64_t)1 << 30)

struct child_memory {
    struct child *child;
    uint64_t address;
};

static int read_child(const void *context, void *into, size_t count, struct err *err)
{
    const struct child_memory *memory = context;
    return sandboxed_read(&memory->child->process, memory->address, into, count, err);
}

/* A copy that the child cannot reach: the children never share a page. */
static int sealed_copy(struct child *child, const struct wire_memory *memory, const char *name,
                       uint64_t most, struct err *err)
{
    struct wire_failed *failed = &child->failed;
    const struct child_memory from = {.child = child, .address = memory->address};
    if (memory->bytes <= most)
        return file_memory_filled(name, memory->bytes, read_child, &from, err);
    failed->failure = FAILED_MEMORY;
    snprintf(failed->text, sizeof failed->text, "%s of %.2f GiB: %.2f GiB is the most", name,
             (double)memory->bytes / GIB, (double)most / GIB);
    return err_set(err, ERR_INPUT, "%.400s", failed->text);
}

/* What it described, and the values, where there are any: sealed copies, the caller's. */
static int take_memory(struct child *child, const struct wire_opened *opened, uint64_t most,
                       int *description, int *values, struct err *err)
{
    int result = *description = sealed_copy(child, &opened->description, "description", most, err);
    if (result >= 0 && opened->values.bytes > 0)
        result = *values = sealed_copy(child, &opened->values, "values", most, err);
    return result < 0 ? result : 0;
}

static int take_opened(struct reference *reference, const struct wire_opened *opened,
                       struct err *err)
{
    if (wire_check_opened(opened, err) < 0)
        return err->code;
    reference->torch_layout = opened->layout;
    return take_memory(&reference->child, opened, LIMIT_TENSOR_BYTES, &reference->description,
                       &reference->weights, err);
}

/* The setting torch.precision, or what the problem states, as wire_open has it. */
static uint32_t precision_of(const struct evaluation_job *job)
{
    static const uint32_t precisions[] = {[TORCH_AUTO_PRECISION] = 0,
                                          [TORCH_FP32] = DTYPE_F32 + 1,
                                          [TORCH_TF32] = DTYPE_COUNT + 1,
                                          [TORCH_FP16] = DTYPE_F16 + 1,
                                          [TORCH_BF16] = DTYPE_BF16 + 1};
    return precisions[evaluation_precision(job)];
}

/* On a CPU a candidate gets what its reference has had, too: outputs, and what lies between the
 * layers. Its layers are built in this machine's memory, as large as the reference's. */
static uint64_t problem_memory(const struct opening *opening, uint32_t role)
{
    const struct reference *reference = opening->reference;
    if (role == WIRE_REFERENCE)
        return SPAWNER_ALL;
    if (role == WIRE_SIZES)
        return SIZES_BYTES;
    if (role != WIRE_CANDIDATE)
        return 0;
    return OPENING_COPIES * (reference->torch_layout.bytes + reference_weight_bytes(reference)) +
           (opening->gpu ? 0 : memory_use_peak_bytes(reference->child.process.pid));
}

/* What is opened, and with what. */
struct child_source {
    uint32_t role;
    const char *text; /* of a module; NULL: the first descriptor takes its place */
    size_t bytes;
    int descriptors[3]; /* as wire_open has them, the caller's */
    uint32_t count;
};

/* Processes are reserved for reference and candidate alone, and sizes need no GPU. */
static bool has_reserved(uint32_t role)
{
    return role == WIRE_REFERENCE || role == WIRE_CANDIDATE;
}

static const struct gpu_context *gpu_of(const struct opening *opening, uint32_t role)
{
    return role == WIRE_SIZES ? NULL : opening->gpu;
}

static void fill_open(const struct opening *opening, uint32_t role, struct wire_open *open)
{
    const struct gpu_context *gpu = gpu_of(opening, role);
    const struct settings *settings = opening->job->settings;
    const struct problem *problem = opening->job->problem;
    bool simple = problem->cases_from != NULL;
    *open = (struct wire_open){
        .type = WIRE_OPEN,
        .role = role,
        .weight_seed = opening->job->weight_seed,
        .threads = opening->threads,
        .precision = precision_of(opening->job),
        .simple = !simple            ? WIRE_NOT_SIMPLE
                  : problem->compare ? WIRE_COMPARED
                                     : WIRE_NOT_COMPARED,
        .oracle = opening->job->without_oracle                            ? WIRE_NO_ORACLE
                  : opening->gpu && opening->lease->wanted != LEASE_ALONE ? WIRE_ORACLE
                                                                          : WIRE_ORACLE_OR_NONE,
    };
    snprintf(open->entry_point, sizeof open->entry_point, "%s%s", problem->entry_point,
             role == WIRE_CANDIDATE && !simple ? "New" : "");
    open->gpu = spawner_wire_gpu(opening->spawner, gpu ? &gpu->facts : NULL);
    enum torch_compile_mode compile = torch_settings(settings)->compile;
    if (role == WIRE_REFERENCE && !simple && compile != TORCH_EAGER)
        snprintf(open->compile, sizeof open->compile, "%s",
                 word_at(WORDS_IN(TORCH_COMPILE_MODES), compile));
}

static int open_child(struct opening *opening, struct child *child,
                      const struct child_source *source, struct wire_opened *opened,
                      struct err *err)
{
    struct wire_open open;
    int descriptors[] = {source->descriptors[0], source->descriptors[1], source->descriptors[2]};
    struct child_start start = {.message = &open,
                                .descriptors = descriptors,
                                .descriptor_count = source->count,
                                .builder = opening->builder,
                                .limit = time_limit_load(opening->job->settings),
                                .cancelled = opening->job->cancelled,
                                .gpu = gpu_of(opening, source->role),
                                .work = opening->work,
                                .lease = opening->lease};
    if (source->text)
        descriptors[0] = file_memory_from("source", source->text, source->bytes, err);
    if (descriptors[0] < 0)
        return descriptors[0];
    fill_open(opening, source->role, &open);
    if (source->role == WIRE_SIZES && start.limit.ms > SIZES_MS)
        start.limit = (struct time_limit){.ms = SIZES_MS};
    int result = spawner_standby(opening->spawner,
                                 opening->gpu ? SANDBOX_TORCH_CUDA : SANDBOX_TORCH, &start.standby,
                                 err);
    if (result == 0 && has_reserved(source->role))
        start.process = spawner_take_reserved(opening->reserve);
    if (result == 0)
        result = spawner_start(opening->spawner, start.gpu ? opening->unit : NULL,
                               start.gpu ? SANDBOX_TORCH_CUDA : SANDBOX_TORCH,
                               problem_memory(opening, source->role), child, &start, opened, err);
    if (source->text)
        close(descriptors[0]);
    return result;
}

/* What the process that makes the cases wrote is the reference's to answer with, and for the judge
 * to know. `made` are sealed copies, the caller's; values -1: no case has a tensor. */
static int take_cases(struct opening *opening, struct child *child,
                      const struct wire_opened *opened, int made[2], struct err *err)
{
    char *text = NULL;
    size_t bytes = 0;
    int result = take_memory(child, opened, run_settings(opening->job->settings)->memory_bytes,
                             &made[0], &made[1], err);
    if (result == 0)
        result = file_read_fd(made[0], "cases", LIMIT_CASES_BYTES, &text, &bytes, err);
    if (result == 0)
        result = cases_parse(&opening->reference->cases, text, bytes, err);
    mem_free(text);
    return result;
}

/* Runs the module with the cases, in a process that ends then. */
static int make_cases(struct opening *opening, int made[2])
{
    struct err err = {0};
    struct child child = {0};
    struct wire_opened opened;
    const struct problem *problem = opening->job->problem;
    struct child_source source = {.role = WIRE_CASES,
                                  .text = problem->reference_text,
                                  .bytes = problem->reference_bytes,
                                  .count = 1};
    int result = open_child(opening, &child, &source, &opened, &err);
    if (result == 0)
        result = take_cases(opening, &child, &opened, made, &err);
    if (result < 0)
        (void)fault_set(opening->fault, FAULT_CASES, &err);
    if (opening->fault->source == FAULT_CASES)
        opening->fault->failed = child.failed;
    child_close(&child);
    return result < 0 ? -1 : 0;
}

/* The module itself, or what came of the cases: then it runs no line of text. */
static int open_reference(struct opening *opening, struct wire_opened *opened)
{
    struct err err = {0};
    struct reference *reference = opening->reference;
    const struct problem *problem = opening->job->problem;
    bool simple = problem->cases_from != NULL;
    int made[2] = {-1, -1};
    int result = simple ? make_cases(opening, made) : 0;
    struct child_source source = {.role = WIRE_REFERENCE,
                                  .text = simple ? NULL : problem->reference_text,
                                  .bytes = problem->reference_bytes,
                                  .descriptors = {made[0], made[1], -1},
                                  .count = made[1] >= 0 ? 2 : 1};
    reference->open = true;
    if (result == 0)
        result = open_child(opening, &reference->child, &source, opened, &err);
    for (uint32_t i = 0; i < 2; i++)
        if (made[i] >= 0)
            close(made[i]);
    return result < 0 ? fault_set(opening->fault, FAULT_REFERENCE, &err) : 0;
}

/* Whether the problem fits, with arguments of so many bytes and a reference that has had, or will
 * have, `peak_bytes`. What cached references have on the CPU is memory, too. */
static int check_memory(struct opening *opening, uint64_t argument_bytes, uint64_t peak_bytes,
                        struct err *err)
{
    int result;
    do
        result = memory_budget_check(opening->gpu, opening->job->problem->id, argument_bytes,
                                     peak_bytes, err);
    while (result < 0 && !opening->gpu && reference_cache_clear(opening->references, NULL) > 0);
    return result;
}

bool torch_find_sizes(struct opening *opening)
{
    struct err err = {0};
    struct child child = {0};
    struct wire_opened opened = {0};
    const struct problem *problem = opening->job->problem;
    struct child_source source = {.role = WIRE_SIZES,
                                  .text = problem->reference_text,
                                  .bytes = problem->reference_bytes,
                                  .count = 1};
    int result = open_child(opening, &child, &source, &opened, &err);
    if (result == 0 && wire_check_opened(&opened, &err) == 0 &&
        opened.weight_bytes <= LIMIT_TENSOR_BYTES) {
        opening->job->argument_bytes = opened.layout.bytes;
        opening->job->weight_bytes = opened.weight_bytes;
    }
    child_close(&child);
    return result != ERR_CANCELLED && result != ERR_IO && result != ERR_MISSING;
}

/* Rather than make inputs that leave nothing for the rest. */
static int check_sizes(struct opening *opening)
{
    struct err err;
    const struct evaluation_job *job = opening->job;
    return check_memory(opening, job->argument_bytes, job->argument_bytes + job->weight_bytes,
                        &err) < 0
               ? fault_set(opening->fault, FAULT_MEMORY, &err)
               : 0;
}

int torch_open_reference(struct opening *opening)
{
    struct err err = {0};
    struct wire_opened opened = {0};
    struct reference *reference = opening->reference;
    if (!opening_has_reference(opening)) {
        reference_close(opening->reference);
        if (check_sizes(opening) < 0 || open_reference(opening, &opened) < 0)
            return -1;
        reference->oracle = opened.oracle == 1;
        if (take_opened(reference, &opened, &err) < 0)
            return fault_set(opening->fault, FAULT_REFERENCE, &err);
        if (check_memory(opening, reference->torch_layout.bytes,
                         memory_use_peak_bytes(reference->child.process.pid), &err) < 0) {
            reference_close(opening->reference);
            return fault_set(opening->fault, FAULT_MEMORY, &err);
        }
        memcpy(reference->hash, opening->job->reference_hash, sizeof reference->hash);
    }
    opening->job->largest = reference->torch_layout;
    return 0;
}

int torch_open_candidate(struct opening *opening)
{
    struct err err = {0};
    const struct reference *reference = opening->reference;
    struct child_source source = {
        .role = WIRE_CANDIDATE,
        .text = opening->job->candidate->text,
        .bytes = opening->job->candidate->bytes,
        .descriptors = {-1, reference->description, reference->weights},
        .count = reference->weights >= 0 ? 3 : 2,
    };
    if (open_child(opening, opening->candidate, &source, NULL, &err) < 0)
        return fault_set(opening->fault, FAULT_CANDIDATE, &err);
    opening->verdict->compiled = true;
    return 0;
}
