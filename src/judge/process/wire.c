#include "judge/process/wire.h"

#include "base/array.h"
#include "base/fd_message.h"

#include <unistd.h>

size_t wire_length(uint32_t type)
{
    static const size_t lengths[] = {
        [WIRE_OPEN] = sizeof(struct wire_open),
        [WIRE_OPENED] = sizeof(struct wire_opened),
        [WIRE_MAP] = sizeof(struct wire_map),
        [WIRE_MAPPED] = sizeof(struct wire_word),
        [WIRE_FILL] = sizeof(struct wire_fill),
        [WIRE_FILLED] = sizeof(struct wire_word),
        [WIRE_CALL] = sizeof(struct wire_call),
        [WIRE_DONE] = offsetof(struct wire_done, outputs),
        [WIRE_FAILED] = sizeof(struct wire_failed),
        [WIRE_BUILD] = sizeof(struct wire_build),
        [WIRE_BUILT] = sizeof(struct wire_built),
        [WIRE_WARM] = sizeof(struct wire_warm),
        [WIRE_SEGMENT] = sizeof(struct wire_segment),
        [WIRE_WAKE] = sizeof(struct wire_wake),
        [WIRE_AWAKE] = sizeof(struct wire_word),
        [WIRE_HELLO] = sizeof(struct wire_word),
        [WIRE_PROGRAM_OPENED] = sizeof(struct wire_word),
    };
    return type < COUNT(lengths) ? lengths[type] : 0;
}

int wire_send(int channel, const void *message, size_t bytes, const int *descriptors,
              uint32_t descriptor_count, struct err *err)
{
    return fd_message_send(channel, message, bytes, descriptors, descriptor_count, err);
}

/* Whether all that it counts came along. */
static bool has_outputs(const union wire_message *message, size_t bytes)
{
    if (message->type != WIRE_DONE)
        return true;
    size_t capacity = (bytes - offsetof(struct wire_done, outputs)) / sizeof(struct wire_output);
    return message->done.count <= capacity || message->done.count > WIRE_OUTPUTS;
}

int wire_receive(int channel, union wire_message *message, size_t *bytes,
                 int descriptors[WIRE_DESCRIPTORS], struct err *err)
{
    ssize_t got = fd_message_receive(channel, message->bytes, sizeof message->bytes, descriptors,
                                     WIRE_DESCRIPTORS, err);
    if (got == 0)
        return err_set(err, ERR_CRASH, "the other end is gone");
    if (got < 0 && got != ERR_INPUT)
        return (int)got;
    *bytes = got > 0 ? (size_t)got : 0;
    if (*bytes >= 2 * sizeof(uint32_t) && wire_length(message->type) > 0 &&
        *bytes >= wire_length(message->type) && has_outputs(message, *bytes))
        return 0;
    wire_close(descriptors);
    return err_set(err, ERR_PROTOCOL, "a message that the protocol does not know");
}

void wire_close(int descriptors[WIRE_DESCRIPTORS])
{
    for (int i = 0; i < WIRE_DESCRIPTORS; i++) {
        if (descriptors[i] >= 0)
            close(descriptors[i]);
        descriptors[i] = -1;
    }
}

int wire_check_done(const struct wire_done *done, struct err *err)
{
    if (done->count > WIRE_OUTPUTS)
        return err_set(err, ERR_PROTOCOL, "it claims %u outputs", done->count);
    for (uint32_t i = 0; i < done->count; i++) {
        const struct wire_output *output = &done->outputs[i];
        const struct dtype_facts *facts = dtype_facts(output->dtype & ~(uint32_t)WIRE_COMPLEX);
        uint64_t bytes = facts ? facts->bytes : 0;
        bool good = facts && output->dimensions <= LIMIT_DIMENSIONS;
        if (good && (output->dtype & WIRE_COMPLEX))
            good = facts->floating && output->dimensions > 0 &&
                   output->shape[output->dimensions - 1] == 2;
        for (uint32_t d = 0; good && d < output->dimensions; d++)
            good = output->shape[d] >= 0 &&
                   !__builtin_mul_overflow(bytes, (uint64_t)output->shape[d], &bytes);
        if (!good || bytes != output->bytes || bytes > LIMIT_TENSOR_BYTES)
            return err_set(err, ERR_PROTOCOL, "it describes an output that cannot be");
    }
    return 0;
}
