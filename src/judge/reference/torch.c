#include "judge/reference/torch.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "judge/fault.h"
#include "judge/gpu/memory_budget.h"
#include "judge/process/start.h"
#include "judge/reference/session_reference.h"
#include "judge/session_internal.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A copy that the child cannot reach: the children never share a page. */
static int sealed_copy(int fd, const char *name, struct err *err)
{
    char *bytes;
    size_t count;
    struct stat facts;
    if (fstat(fd, &facts) < 0 || !S_ISREG(facts.st_mode))
        return err_set(err, ERR_PROTOCOL, "the %s are not in memory", name);
    lseek(fd, 0, SEEK_SET);
    int result = file_read_fd(fd, name, LIMIT_TENSOR_BYTES, &bytes, &count, err);
    if (result < 0)
        return result;
    result = file_memory_from(name, bytes, count, err);
    mem_free(bytes);
    return result;
}

static int take_opened(struct reference *reference, const struct wire_opened *opened,
                       int descriptors[WIRE_DESCRIPTORS], struct err *err)
{
    int result = 0;
    reference->torch_layout = opened->layout;
    if (opened->layout.count > LIMIT_ARGUMENTS || descriptors[0] < 0)
        result = err_set(err, ERR_PROTOCOL, "it described no inputs");
    if (result == 0)
        result = reference->description = sealed_copy(descriptors[0], "description", err);
    if (result >= 0 && descriptors[1] >= 0)
        result = reference->weights = sealed_copy(descriptors[1], "weights", err);
    for (int i = 0; i < WIRE_DESCRIPTORS; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
    return result < 0 ? result : 0;
}

/* Setting torch.precision, as wire_open has it. */
static uint32_t precision_of(const struct settings *settings)
{
    static const struct {
        const char *name;
        enum dtype dtype;
    } precisions[] = {{"fp32", DTYPE_F32}, {"fp16", DTYPE_F16}, {"bf16", DTYPE_BF16}};
    for (size_t i = 0; i < COUNT(precisions); i++)
        if (strcmp(settings->torch_precision, precisions[i].name) == 0)
            return (uint32_t)precisions[i].dtype + 1;
    return 0;
}

/* A candidate on a GPU builds its layers in this machine's memory, as large as the reference's. */
static uint64_t arguments_bytes(const struct session *session, uint32_t role)
{
    struct stat facts = {0};
    if (role == WIRE_REFERENCE || !session->lease.gpu || session->reference.weights < 0 ||
        fstat(session->reference.weights, &facts) < 0)
        return session->reference.torch_layout.bytes;
    return session->reference.torch_layout.bytes + (uint64_t)facts.st_size;
}

/* What is opened, and with what: descriptors as wire_open has them, the first one to be closed. */
struct opening {
    uint32_t role;
    int descriptors[3];
    uint32_t count;
    bool own_process; /* none of those that are reserved for reference and candidate */
};

static void fill_open(const struct session *session, uint32_t role, struct wire_open *open)
{
    const struct settings *settings = session->job.settings;
    const struct problem *problem = session->job.problem;
    bool simple = problem->cases_from != NULL;
    *open = (struct wire_open){
        .type = WIRE_OPEN,
        .role = role,
        .weight_seed = session_weight_seed(session),
        .threads = (uint32_t)session_threads(session),
        .precision = precision_of(settings),
        .simple = !simple            ? WIRE_NOT_SIMPLE
                  : problem->compare ? WIRE_COMPARED
                                     : WIRE_NOT_COMPARED,
    };
    snprintf(open->entry_point, sizeof open->entry_point, "%s%s", problem->entry_point,
             role == WIRE_REFERENCE || simple ? "" : "New");
    open->gpu = judge_wire_gpu(session->judge,
                               session->lease.gpu ? &session->lease.gpu->facts : NULL);
    if (role == WIRE_REFERENCE && !simple)
        snprintf(open->compile, sizeof open->compile, "%s", settings->torch_compile);
}

static int open_child(struct session *session, struct child *child, const struct opening *opening,
                      struct wire_opened *opened, int opened_descriptors[WIRE_DESCRIPTORS],
                      struct err *err)
{
    struct wire_open open;
    struct child_start start = {.message = &open,
                                .descriptors = opening->descriptors,
                                .descriptor_count = opening->count,
                                .builder = &session->builder,
                                .timeout_ms = session->job.settings->run_load_timeout_ms,
                                .cancelled = session->job.cancelled,
                                .gpu = session->lease.gpu};
    fill_open(session, opening->role, &open);
    if (!opening->own_process)
        start.process = device_lease_next_process(&session->lease);
    return judge_start_child(session->judge, session->lease.unit,
                             session->lease.gpu ? SANDBOX_TORCH_CUDA : SANDBOX_TORCH,
                             arguments_bytes(session, opening->role), child, &start, opened,
                             opened_descriptors, err);
}

/* What the process that makes the cases wrote is the reference's to answer with, and for the judge
 * to know. `made` are sealed copies, the caller's; values -1: no case has a tensor. */
static int take_cases(struct session *session, int descriptors[WIRE_DESCRIPTORS], int made[2],
                      struct err *err)
{
    char *text = NULL;
    size_t bytes = 0;
    int result = descriptors[0] < 0 ? err_set(err, ERR_PROTOCOL, "it described no cases") : 0;
    if (result == 0)
        result = made[0] = sealed_copy(descriptors[0], "cases", err);
    if (result >= 0 && descriptors[1] >= 0)
        result = made[1] = sealed_copy(descriptors[1], "values", err);
    if (result >= 0) {
        lseek(made[0], 0, SEEK_SET);
        result = file_read_fd(made[0], "cases", LIMIT_CASES_BYTES, &text, &bytes, err);
    }
    if (result >= 0)
        result = cases_parse(&session->reference.cases, text, bytes, err);
    mem_free(text);
    for (int i = 0; i < WIRE_DESCRIPTORS; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
    return result < 0 ? result : 0;
}

/* Runs the module with the cases, in a process that ends then. */
static int make_cases(struct session *session, int made[2])
{
    struct err err = {0};
    struct child child = {0};
    struct wire_opened opened;
    int descriptors[WIRE_DESCRIPTORS] = {-1, -1, -1, -1};
    const struct problem *problem = session->job.problem;
    struct opening opening = {.role = WIRE_CASES, .count = 1, .own_process = true};
    int result = opening.descriptors[0] = file_memory_from("cases", problem->reference_text,
                                                           problem->reference_bytes, &err);
    if (result >= 0) {
        result = open_child(session, &child, &opening, &opened, descriptors, &err);
        close(opening.descriptors[0]);
    }
    if (result >= 0)
        result = take_cases(session, descriptors, made, &err);
    if (result < 0)
        (void)fault_cases(session, &child, &err);
    child_close(&child);
    return result < 0 ? -1 : 0;
}

/* The module itself, or what came of the cases: then it runs no line of text. */
static int open_reference(struct session *session, struct wire_opened *opened,
                          int descriptors[WIRE_DESCRIPTORS])
{
    struct err err = {0};
    struct reference *reference = &session->reference;
    const struct problem *problem = session->job.problem;
    struct opening opening = {.role = WIRE_REFERENCE, .descriptors = {-1, -1, -1}, .count = 1};
    int result = 0;
    reference->open = true;
    if (problem->cases_from) {
        if (make_cases(session, opening.descriptors) < 0)
            return -1;
        opening.count = opening.descriptors[1] >= 0 ? 2 : 1;
    } else {
        result = opening.descriptors[0] = file_memory_from("source", problem->reference_text,
                                                           problem->reference_bytes, &err);
    }
    if (result >= 0)
        result = open_child(session, &reference->child, &opening, opened, descriptors, &err);
    for (uint32_t i = 0; i < opening.count; i++)
        if (opening.descriptors[i] >= 0)
            close(opening.descriptors[i]);
    return result < 0 ? fault_reference(session, &err) : 0;
}

int torch_open_reference(struct session *session)
{
    struct err err = {0};
    struct wire_opened opened = {0};
    int descriptors[WIRE_DESCRIPTORS] = {-1, -1, -1, -1};
    struct reference *reference = &session->reference;
    if (!session_reference_ready(session)) {
        reference_close(&session->reference);
        if (open_reference(session, &opened, descriptors) < 0) {
            reference_close(&session->reference);
            return -1;
        }
        reference->oracle = opened.oracle == 1;
        if (take_opened(reference, &opened, descriptors, &err) < 0)
            return fault_reference(session, &err);
        session->job.largest = reference->torch_layout;
        if (memory_budget_check(session->lease.gpu, session->job.problem->id,
                                session->job.largest.bytes, &err) < 0) {
            reference_close(&session->reference);
            return fault_gpu_memory(session, &err);
        }
        memcpy(reference->hash, session->job.reference_hash, sizeof reference->hash);
    }
    session->job.largest = reference->torch_layout;
    return 0;
}

static int open_candidate(struct session *session)
{
    struct err err = {0};
    const struct reference *reference = &session->reference;
    struct opening opening = {
        .role = WIRE_CANDIDATE,
        .descriptors = {-1, reference->description, reference->weights},
        .count = reference->weights >= 0 ? 3 : 2,
    };
    int result = opening.descriptors[0] = file_memory_from("source", session->job.candidate->text,
                                                           session->job.candidate->bytes, &err);
    if (result >= 0) {
        result = open_child(session, &session->candidate, &opening, NULL, NULL, &err);
        close(opening.descriptors[0]);
    }
    if (result < 0)
        return fault_candidate(session, &err);
    session->verdict->compiled = true;
    return 0;
}

int torch_open(struct session *session)
{
    int result = session_enter_device(session, SANDBOX_TORCH_CUDA);
    int64_t start_ns = clock_now_ns();
    if (result == 0)
        result = torch_open_reference(session);
    if (result == 0)
        result = open_candidate(session);
    if (result == 0) /* if it compiled something, another session may have taken the reference */
        result = torch_open_reference(session);
    session_end_stage(session, STAGE_LOAD, start_ns);
    return result;
}
