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
        [WIRE_LOCKED] = sizeof(struct wire_locked),
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

/* More than any machine has: whether they fit is another question, and sums do not overflow. */
#define LAYOUT_BYTES_MAX ((uint64_t)1 << 48)

/* From `from` on, which moves behind it. */
static bool is_laid_out(const struct layout *layout, const struct layout_argument *argument,
                        uint64_t *from)
{
    const struct dtype_facts *facts = dtype_facts(argument->dtype);
    if (!facts || argument->role != ROLE_IN || argument->fill != FILL_NONE ||
        argument->offset % LAYOUT_ALIGNMENT != 0 || argument->offset < *from ||
        argument->offset > layout->bytes || argument->count > layout->bytes / facts->bytes)
        return false;
    *from = argument->offset + argument->count * facts->bytes + LAYOUT_GUARD_BYTES;
    return *from <= layout->bytes;
}

int wire_check_opened(const struct wire_opened *opened, struct err *err)
{
    const struct layout *layout = &opened->layout;
    uint64_t from = 0;
    bool good = layout->count <= LIMIT_ARGUMENTS && layout->cases <= layout->count &&
                layout->bytes <= LAYOUT_BYTES_MAX;
    for (uint32_t i = 0; good && i < layout->count; i++)
        good = is_laid_out(layout, &layout->arguments[i], &from);
    return good ? 0 : err_set(err, ERR_PROTOCOL, "it describes inputs that cannot be");
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
