#include "judge/process/external_program.h"

#include "judge/process/wire.h"
#include "sandbox/program.h"

#include <stdio.h>

#define SAME(public, ours)                                                                         \
    _Static_assert((int)(public) == (int)(ours), "the public protocol stays as it is")
#define SAME_PLACE(public, member, ours, own_member)                                               \
    SAME(offsetof(struct public, member), offsetof(struct ours, own_member))

SAME(WARPGYM_CHILD_MAPPED, WIRE_MAPPED);
SAME(WARPGYM_CHILD_CALL, WIRE_CALL);
SAME(WARPGYM_CHILD_DONE, WIRE_DONE);
SAME(WARPGYM_CHILD_FAILED, WIRE_FAILED);
SAME(WARPGYM_CHILD_HELLO, WIRE_HELLO);
SAME(WARPGYM_CHILD_OPEN, WIRE_PROGRAM_OPEN);
SAME(WARPGYM_CHILD_OPENED, WIRE_PROGRAM_OPENED);
SAME(WARPGYM_CHILD_MAP, WIRE_PROGRAM_MAP);
SAME(WARPGYM_CHILD_CHANNEL, PROGRAM_CHANNEL);
SAME(WARPGYM_CHILD_ARGUMENTS, LIMIT_ARGUMENTS);
SAME(WARPGYM_CHILD_NAME_BYTES, LIMIT_NAME_BYTES);
SAME(WARPGYM_CHILD_TEXT_BYTES, WIRE_TEXT_BYTES);
SAME(WARPGYM_CHILD_IN, ROLE_IN);
SAME(WARPGYM_CHILD_OUT, ROLE_OUT);
SAME(WARPGYM_CHILD_INOUT, ROLE_INOUT);
SAME(WARPGYM_CHILD_SIZE, ROLE_SIZE);
SAME(WARPGYM_CHILD_SCALAR, ROLE_SCALAR);
SAME(WARPGYM_CHILD_F16, DTYPE_F16);
SAME(WARPGYM_CHILD_F32, DTYPE_F32);
SAME(WARPGYM_CHILD_I8, DTYPE_I8);
SAME(WARPGYM_CHILD_I64, DTYPE_I64);
SAME(WARPGYM_CHILD_U64, DTYPE_U64);
SAME(WARPGYM_CHILD_BOOL, DTYPE_BOOL);
SAME(WARPGYM_CHILD_BOOL + 1, DTYPE_COUNT);
SAME(WARPGYM_CHILD_LOAD_ERROR, FAILED_LOAD);
SAME(WARPGYM_CHILD_RUNTIME_ERROR, FAILED_RUN);
SAME(WARPGYM_CHILD_OUT_OF_MEMORY, FAILED_MEMORY);
SAME(WARPGYM_CHILD_UNSUPPORTED, FAILED_UNSUPPORTED);
SAME(WARPGYM_CHILD_COMPILE_ERROR, FAILED_COMPILE);
SAME(sizeof(struct warpgym_child_word), sizeof(struct wire_word));
SAME(sizeof(struct warpgym_child_call), sizeof(struct wire_call));
SAME_PLACE(warpgym_child_call, mode, wire_call, mode);
SAME(sizeof(struct warpgym_child_done), offsetof(struct wire_done, outputs));
SAME_PLACE(warpgym_child_done, reserved, wire_done, count);
SAME_PLACE(warpgym_child_done, own_ns, wire_done, own_ns);
SAME(sizeof(struct warpgym_child_failed), sizeof(struct wire_failed));
SAME_PLACE(warpgym_child_failed, failure, wire_failed, failure);
SAME_PLACE(warpgym_child_failed, text, wire_failed, text);

void external_program_open(const struct problem *problem, const char *file, uint32_t threads,
                           struct warpgym_child_open *open)
{
    *open = (struct warpgym_child_open){.type = WARPGYM_CHILD_OPEN,
                                        .version = WARPGYM_CHILD_VERSION,
                                        .threads = threads,
                                        .parameter_count = problem->argument_count};
    snprintf(open->file, sizeof open->file, "%s", file);
    for (uint32_t i = 0; i < problem->argument_count; i++) {
        const struct argument *argument = &problem->arguments[i];
        struct warpgym_child_parameter *parameter = &open->parameters[i];
        snprintf(parameter->name, sizeof parameter->name, "%s", argument->name);
        parameter->role = argument->role;
        parameter->element = argument->dtype;
    }
}

void external_program_map(const struct layout *layout, uint64_t memory_bytes,
                          struct warpgym_child_map *map)
{
    *map = (struct warpgym_child_map){.type = WARPGYM_CHILD_MAP,
                                      .argument_count = layout->count,
                                      .memory_bytes = memory_bytes};
    for (uint32_t i = 0; i < layout->count; i++)
        map->arguments[i] = (struct warpgym_child_argument){.offset = layout->arguments[i].offset,
                                                            .count = layout->arguments[i].count};
}
