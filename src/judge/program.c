#include "judge/program.h"

#include "base/clock.h"
#include "base/mem.h"
#include "judge/side.h"
#include "sandbox/program.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SAME(public, ours)                                                                         \
    _Static_assert((int)(public) == (int)(ours), "the public protocol stays as it is")
#define SAME_PLACE(public, member, ours, own_member)                                               \
    SAME(offsetof(struct public, member), offsetof(struct ours, own_member))

SAME(WARPGYM_SIDE_MAPPED, WIRE_MAPPED);
SAME(WARPGYM_SIDE_CALL, WIRE_CALL);
SAME(WARPGYM_SIDE_DONE, WIRE_DONE);
SAME(WARPGYM_SIDE_FAILED, WIRE_FAILED);
SAME(WARPGYM_SIDE_HELLO, WIRE_HELLO);
SAME(WARPGYM_SIDE_OPEN, WIRE_PROGRAM_OPEN);
SAME(WARPGYM_SIDE_OPENED, WIRE_PROGRAM_OPENED);
SAME(WARPGYM_SIDE_MAP, WIRE_PROGRAM_MAP);
SAME(WARPGYM_SIDE_CHANNEL, PROGRAM_CHANNEL);
SAME(WARPGYM_SIDE_ARGUMENTS, LIMIT_ARGUMENTS);
SAME(WARPGYM_SIDE_NAME_BYTES, LIMIT_NAME_BYTES);
SAME(WARPGYM_SIDE_TEXT_BYTES, WIRE_TEXT_BYTES);
SAME(WARPGYM_SIDE_IN, ROLE_IN);
SAME(WARPGYM_SIDE_OUT, ROLE_OUT);
SAME(WARPGYM_SIDE_INOUT, ROLE_INOUT);
SAME(WARPGYM_SIDE_SIZE, ROLE_SIZE);
SAME(WARPGYM_SIDE_SCALAR, ROLE_SCALAR);
SAME(WARPGYM_SIDE_F16, DTYPE_F16);
SAME(WARPGYM_SIDE_F32, DTYPE_F32);
SAME(WARPGYM_SIDE_I8, DTYPE_I8);
SAME(WARPGYM_SIDE_I64, DTYPE_I64);
SAME(WARPGYM_SIDE_U64, DTYPE_U64);
SAME(WARPGYM_SIDE_BOOL, DTYPE_BOOL);
SAME(WARPGYM_SIDE_BOOL + 1, DTYPE_COUNT);
SAME(WARPGYM_SIDE_LOAD_ERROR, FAILED_LOAD);
SAME(WARPGYM_SIDE_RUNTIME_ERROR, FAILED_RUN);
SAME(WARPGYM_SIDE_OUT_OF_MEMORY, FAILED_MEMORY);
SAME(WARPGYM_SIDE_UNSUPPORTED, FAILED_UNSUPPORTED);
SAME(WARPGYM_SIDE_COMPILE_ERROR, FAILED_COMPILE);
SAME(sizeof(struct warpgym_side_word), sizeof(struct wire_word));
SAME(sizeof(struct warpgym_side_call), sizeof(struct wire_call));
SAME_PLACE(warpgym_side_call, mode, wire_call, mode);
SAME(sizeof(struct warpgym_side_done), offsetof(struct wire_done, outputs));
SAME_PLACE(warpgym_side_done, reserved, wire_done, count);
SAME_PLACE(warpgym_side_done, own_ns, wire_done, own_ns);
SAME(sizeof(struct warpgym_side_failed), sizeof(struct wire_failed));
SAME_PLACE(warpgym_side_failed, failure, wire_failed, failure);
SAME_PLACE(warpgym_side_failed, text, wire_failed, text);

void program_open(const struct problem *problem, const char *file, uint32_t threads,
                  struct warpgym_side_open *open)
{
    *open = (struct warpgym_side_open){.type = WARPGYM_SIDE_OPEN,
                                       .version = WARPGYM_SIDE_VERSION,
                                       .threads = threads,
                                       .parameter_count = problem->argument_count};
    snprintf(open->file, sizeof open->file, "%s", file);
    for (uint32_t i = 0; i < problem->argument_count; i++) {
        const struct argument *argument = &problem->arguments[i];
        struct warpgym_side_parameter *parameter = &open->parameters[i];
        snprintf(parameter->name, sizeof parameter->name, "%s", argument->name);
        parameter->role = argument->role;
        parameter->element = argument->dtype;
    }
}

/* Nothing of the candidate's is in the process: what goes wrong is not its doing. */
static int blame_program(const char *name, struct err *err)
{
    char why[ERR_TEXT_MAX];
    if (err->code == ERR_CANCELLED)
        return err->code;
    snprintf(why, sizeof why, "%s", err->text);
    return err_set(err, ERR_IO, "%s does not get as far as HELLO in its box: %s", name, why);
}

static void close_all(int descriptors[WIRE_DESCRIPTORS])
{
    for (int i = 0; i < WIRE_DESCRIPTORS; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
}

int side_become(struct side *side, const struct side_program *program, int64_t deadline_ns,
                struct err *err)
{
    int descriptors[WIRE_DESCRIPTORS];
    union wire_message *message = mem_alloc(sizeof *message);
    int result = program_start(&side->boxed, program->argv, program->environment,
                               clock_left_ms(deadline_ns), err);
    if (result == 0)
        result = side_expect(side, WIRE_HELLO, deadline_ns, message, descriptors, err);
    if (result == 0) {
        close_all(descriptors);
        if (message->word.version != WARPGYM_SIDE_VERSION)
            result = err_set(err, ERR_UNSUPPORTED,
                             "it speaks version %u of the side protocol, and this is version %u",
                             message->word.version, WARPGYM_SIDE_VERSION);
    }
    mem_free(message);
    return result < 0 ? blame_program(program->argv[0], err) : 0;
}

void side_describe_map(const struct side *side, struct warpgym_side_map *map)
{
    const struct layout *layout = &side->layout;
    *map = (struct warpgym_side_map){.type = WARPGYM_SIDE_MAP,
                                     .argument_count = layout->count,
                                     .memory_bytes = side->slot.bytes};
    for (uint32_t i = 0; i < layout->count; i++)
        map->arguments[i] = (struct warpgym_side_argument){.offset = layout->arguments[i].offset,
                                                           .count = layout->arguments[i].count};
}
