/* open_torch: two sides with PyTorch in them, one with the problem's module, one with the
 * candidate's.
 *
 * The reference side builds its Model under a weight seed that the judge draws once for each
 * problem, describes its inputs and hands out its weights; the candidate side builds ModelNew under
 * the same seed and is given a copy of the values where names and shapes match, so that the order
 * of construction doesn't matter. What a candidate asks to be compiled (torch.utils.cpp_extension)
 * is compiled by the judge in a box of its own: see build.h.
 */
#include "judge/context.h"

#include "base/clock.h"
#include "base/file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A copy that the other side cannot reach: the sides never share a page. */
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
    for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++)
        if (strcmp(settings->torch_precision, precisions[i].name) == 0)
            return (uint32_t)precisions[i].dtype + 1;
    return 0;
}

/* A candidate on a GPU builds its layers in this machine's memory, as large as the reference's. */
static uint64_t arguments_bytes(const struct session *session, uint32_t role)
{
    struct stat facts = {0};
    if (role == WIRE_REFERENCE || !session->gpu || session->reference.weights < 0 ||
        fstat(session->reference.weights, &facts) < 0)
        return session->reference.torch_layout.bytes;
    return session->reference.torch_layout.bytes + (uint64_t)facts.st_size;
}

static int open_side(struct session *session, struct side *side, uint32_t role, const char *text,
                     size_t bytes, struct wire_opened *opened,
                     int opened_descriptors[WIRE_DESCRIPTORS], struct err *err)
{
    const struct settings *settings = session->judge->options.settings;
    struct wire_open open = {
        .type = WIRE_OPEN,
        .role = role,
        .weight_seed = session_weight_seed(session),
        .threads = (uint32_t)session_threads(session),
        .precision = precision_of(settings),
    };
    snprintf(open.entry_point, sizeof open.entry_point, "%s%s", session->problem->entry_point,
             role == WIRE_REFERENCE ? "" : "New");
    open.gpu = judge_gpu(session->judge, session->gpu ? &session->gpu->facts : NULL);
    if (role == WIRE_REFERENCE)
        snprintf(open.compile, sizeof open.compile, "%s", settings->torch_compile);
    int descriptors[3] = {-1, session->reference.description, session->reference.weights};
    struct side_start start = {.message = &open,
                               .descriptors = descriptors,
                               .descriptor_count = role == WIRE_REFERENCE            ? 1
                                                   : session->reference.weights >= 0 ? 3
                                                                                     : 2,
                               .builder = &session->builds.builder,
                               .gpu = session->gpu};
    int result = descriptors[0] = file_memory_from("source", text, bytes, err);
    if (result >= 0)
        start.boxed = session_reserved(session);
    if (result >= 0)
        result = judge_start(session->judge, session->unit,
                             session->gpu ? BOX_TORCH_CUDA : BOX_TORCH,
                             arguments_bytes(session, role), side, &start, opened,
                             opened_descriptors, err);
    if (descriptors[0] >= 0)
        close(descriptors[0]);
    return result < 0 ? result : 0;
}

int torch_reference(struct session *session)
{
    struct err err = {0};
    struct wire_opened opened;
    int descriptors[WIRE_DESCRIPTORS];
    struct reference *reference = &session->reference;
    const struct problem *problem = session->problem;
    if (!session_reference_ready(session)) {
        reference_close(&session->reference);
        reference->open = true;
        if (open_side(session, &reference->side, WIRE_REFERENCE, problem->reference_text,
                      problem->reference_bytes, &opened, descriptors, &err) < 0)
            return fault_reference(session, &err);
        reference->oracle = opened.oracle == 1;
        if (take_opened(reference, &opened, descriptors, &err) < 0)
            return fault_reference(session, &err);
        session->largest = reference->torch_layout;
        if (room_check(session, &err) < 0) {
            reference_close(&session->reference);
            return fault_room(session, &err);
        }
        memcpy(reference->problem_hash, problem->hash, sizeof reference->problem_hash);
    }
    session->largest = reference->torch_layout;
    return 0;
}

static int open_candidate(struct session *session)
{
    struct err err = {0};
    session->loads = true;
    int result = open_side(session, &session->candidate, WIRE_CANDIDATE, session->text->text,
                           session->text->bytes, NULL, NULL, &err);
    session->loads = false;
    if (result < 0)
        return fault_candidate(session, &err);
    session->verdict->compiled = true;
    return 0;
}

int open_torch(struct session *session)
{
    int result = session_enter(session, BOX_TORCH_CUDA);
    int64_t start_ns = clock_now_ns();
    if (result == 0)
        result = torch_reference(session);
    if (result == 0)
        result = open_candidate(session);
    if (result == 0) /* if it compiled something, somebody else may have the one of before */
        result = torch_reference(session);
    session_end_stage(session, STAGE_LOAD, start_ns);
    return result;
}
