#include "judge/process/wire.h"

#include "base/fd_message.h"

#include <unistd.h>

size_t wire_length(uint32_t type)
{
    switch (type) {
    case WIRE_OPEN:
        return sizeof(struct wire_open);
    case WIRE_OPENED:
        return sizeof(struct wire_opened);
    case WIRE_MAP:
        return sizeof(struct wire_map);
    case WIRE_FILL:
        return sizeof(struct wire_fill);
    case WIRE_CALL:
        return sizeof(struct wire_call);
    case WIRE_DONE:
        return offsetof(struct wire_done, outputs);
    case WIRE_FAILED:
        return sizeof(struct wire_failed);
    case WIRE_BUILT:
        return sizeof(struct wire_built);
    case WIRE_SEGMENT:
        return sizeof(struct wire_segment);
    case WIRE_WARM:
        return sizeof(struct wire_warm);
    case WIRE_WAKE:
        return sizeof(struct wire_wake);
    case WIRE_HELLO:
    case WIRE_PROGRAM_OPENED:
        return sizeof(struct wire_word);
    case WIRE_AWAKE:
    case WIRE_MAPPED:
    case WIRE_FILLED:
    case WIRE_BUILD:
        return 2 * sizeof(uint32_t);
    default:
        return 0;
    }
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
        const struct dtype_facts *facts = dtype_facts(output->dtype);
        uint64_t bytes = facts ? facts->bytes : 0;
        bool good = facts && output->dimensions <= LIMIT_DIMENSIONS;
        for (uint32_t d = 0; good && d < output->dimensions; d++)
            good = output->shape[d] >= 0 &&
                   !__builtin_mul_overflow(bytes, (uint64_t)output->shape[d], &bytes);
        if (!good || bytes != output->bytes || bytes > LIMIT_TENSOR_BYTES)
            return err_set(err, ERR_PROTOCOL, "it describes an output that cannot be");
    }
    return 0;
}
