/* call: the one moment in which a side runs. Declared in side.h. */
#include "judge/side.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Where outputs lie: native ones in the slot, torch ones in the side's own memory. */
static uint32_t list_outputs(const struct side *side, struct wire_output *outputs)
{
    uint32_t count = 0;
    if (side->done.count > 0) {
        memcpy(outputs, side->done.outputs, side->done.count * sizeof *outputs);
        return side->done.count;
    }
    for (uint32_t i = 0; i < side->layout.count; i++) {
        const struct layout_argument *argument = &side->layout.arguments[i];
        if (!layout_is_output(argument))
            continue;
        outputs[count++] = (struct wire_output){
            .address = argument->offset,
            .bytes = layout_argument_bytes(argument),
            .dtype = argument->dtype,
            .dimensions = 1,
            .shape = {(int64_t)argument->count},
        };
    }
    return count;
}

static int peek(const struct side *side, const struct wire_output *output, uint64_t offset,
                void *into, size_t bytes)
{
    struct err ignored;
    if (side->done.count > 0)
        return boxed_read(&side->boxed, output->address + offset, into, bytes, &ignored);
    memcpy(into, side->slot.data + output->address + offset, bytes);
    return 0;
}

/* Samples on a GPU are all asked for before any is waited for. */
static int peek_later(const struct side *side, const struct wire_output *output, uint64_t offset,
                      void *into, size_t bytes)
{
    const struct cuda *cuda = &side->gpu->cuda;
    return cuda->copy_to_host_later(into, side->arrays.address + output->address + offset, bytes,
                                    NULL);
}

/* Random places of random outputs, chosen by the judge after the candidate has said DONE. */
static void take_samples(const struct side *side, struct side_sample samples[SIDE_SAMPLES])
{
    struct wire_output outputs[WIRE_OUTPUTS];
    uint32_t count = list_outputs(side, outputs);
    uint64_t state = clock_secret();
    for (int i = 0; i < SIDE_SAMPLES && count > 0; i++) {
        struct side_sample *sample = &samples[i];
        state = state * 6364136223846793005U + 1442695040888963407U;
        sample->output = (uint32_t)((state >> 33) % count);
        state = state * 6364136223846793005U + 1442695040888963407U;
        uint64_t bytes = outputs[sample->output].bytes;
        uint64_t lines = bytes / SIDE_SAMPLE_BYTES;
        sample->offset = lines ? (state >> 20) % lines * SIDE_SAMPLE_BYTES : 0;
        state = state * 6364136223846793005U + 1442695040888963407U;
        sample->offset += (state >> 33) % side->slots * side->layout.bytes;
        sample->bytes = bytes < SIDE_SAMPLE_BYTES ? bytes : SIDE_SAMPLE_BYTES;
        sample->taken = sample->bytes > 0 &&
                        (side->gpu ? peek_later : peek)(side, &outputs[sample->output],
                                                        sample->offset, sample->data,
                                                        sample->bytes) == 0;
    }
    if (side->gpu)
        (void)!side->gpu->cuda.synchronize(); /* of the judge's own context: its copies */
}

/* What it computed on a GPU comes into the mirror, of which everything else is read. What still
 * runs there although the side is stopped may change it until now: then the samples, which were
 * taken on the clock, say something else. */
int side_pull(struct side *side, struct err *err)
{
    return side->gpu ? gpu_memory_read(&side->arrays, 0, side->slot.data,
                                       side->slots * side->layout.bytes, err)
                     : 0;
}

/* Where the mirror is not kept, what lies on the GPU now. */
static int peek_now(const struct side *side, const struct wire_output *output, uint64_t offset,
                    void *into, size_t bytes)
{
    struct err ignored;
    if (side->stays_on_gpu)
        return gpu_memory_read(&side->arrays, output->address + offset, into, bytes, &ignored);
    return peek(side, output, offset, into, bytes);
}

bool side_samples_changed(const struct side *side)
{
    struct wire_output outputs[WIRE_OUTPUTS];
    unsigned char now[SIDE_SAMPLE_BYTES];
    uint32_t count = list_outputs(side, outputs);
    for (int i = 0; i < SIDE_SAMPLES; i++) {
        const struct side_sample *sample = &side->samples[i];
        if (!sample->taken || sample->output >= count)
            continue;
        if (peek_now(side, &outputs[sample->output], sample->offset, now, sample->bytes) < 0 ||
            memcmp(now, sample->data, sample->bytes) != 0)
            return true;
    }
    return false;
}

/* Anything on the channel now was not asked for. */
static bool speaks(const struct side *side)
{
    char byte;
    return recv(side->boxed.channel, &byte, 1, MSG_DONTWAIT | MSG_PEEK) > 0;
}

/* Waits until there is something on the channel, or it ended. */
static int wait_done(struct side *side, int64_t deadline_ns, struct err *err)
{
    struct pollfd wait = {.fd = side->boxed.channel, .events = POLLIN};
    for (;;) {
        int left_ms = clock_left_ms(deadline_ns);
        if (poll(&wait, 1, left_ms < 200 ? left_ms : 200) > 0)
            return 0;
        if (side->cancelled && *side->cancelled)
            return err_set(err, ERR_CANCELLED, "cancelled");
        if (clock_now_ns() >= deadline_ns)
            return err_set(err, ERR_TIMEOUT, "one call took longer than it may");
    }
}

static int read_answer(struct side *side, union wire_message *message, struct err *err)
{
    int descriptors[WIRE_DESCRIPTORS];
    size_t bytes;
    int result = wire_receive(side->boxed.channel, message, &bytes, descriptors, err);
    for (int i = 0; i < WIRE_DESCRIPTORS; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
    if (result == ERR_CRASH || result == ERR_IO)
        return side_explain_end(side, err);
    if (result < 0)
        return result;
    if (message->type == WIRE_DONE) {
        side->done = message->done;
        if (side->slot_outputs)
            side->done.count = 0;
        return wire_check_done(&side->done, err);
    }
    if (message->type != WIRE_FAILED)
        return err_set(err, ERR_PROTOCOL, "it sent a message that does not belong there");
    side_take_failure(side, &message->failed);
    return err_set(err, ERR_INPUT, "%.600s", side->failed.text);
}

static int receive_done(struct side *side, int64_t deadline_ns, struct err *err)
{
    int result = wait_done(side, deadline_ns, err);
    return result < 0 ? result : read_answer(side, side->answer, err);
}

int side_call(struct side *side, uint32_t mode, uint64_t noise, int64_t timeout_ms,
              struct side_time *time, struct err *err)
{
    struct wire_call call = {.type = WIRE_CALL, .mode = mode, .noise = noise};
    int result = boxed_freeze(&side->boxed, err);
    if (result < 0)
        return result;
    if (speaks(side)) {
        side->spoke = true;
        return err_set(err, ERR_PROTOCOL, "it sent a message that nobody asked for");
    }
    result = wire_send(side->boxed.channel, &call, sizeof call, NULL, 0, err);
    if (result < 0)
        return result == ERR_CRASH ? side_explain_end(side, err) : result;
    if (side->seat)
        seat_assign(side->seat, side->boxed.pid);
    int64_t start_ns = clock_now_ns();
    boxed_thaw(&side->boxed);
    if (side->seat)
        seat_open(side->seat, side->boxed.pid);
    result = receive_done(side, start_ns + timeout_ms * 1000000, err);
    if (result < 0)
        return result;
    /* The clock stops when samples of the answer are in the judge's hands, not when the side says
     * that there is one: what it still does in between is on its own time. */
    take_samples(side, side->samples);
    int64_t stop_ns = clock_now_ns();
    if (side->seat)
        seat_recall(side->seat, side->boxed.pid);
    result = boxed_freeze(&side->boxed, err);
    if (result < 0)
        return result;
    *time = (struct side_time){.ms = (double)(stop_ns - start_ns) * 1e-6,
                               .freeze_us = (double)(clock_now_ns() - stop_ns) * 1e-3,
                               .own_ms = (double)side->done.own_ns * 1e-6};
    if (side->stays_on_gpu)
        return 0; /* whoever reads its outputs there looks at the samples then */
    result = mode == WIRE_RUN ? side_pull(side, err) : 0;
    if (result < 0)
        return result;
    if (side_samples_changed(side))
        side->late = true;
    return 0;
}

uint32_t side_output_count(const struct side *side)
{
    struct wire_output outputs[WIRE_OUTPUTS];
    return list_outputs(side, outputs);
}

int side_output_form(const struct side *side, uint32_t slot, uint32_t index, struct tensor *tensor,
                     struct err *err)
{
    struct wire_output outputs[WIRE_OUTPUTS];
    uint32_t count = list_outputs(side, outputs);
    if (index >= count)
        return err_set(err, ERR_INTERNAL, "there is no output %u", index);
    const struct wire_output *output = &outputs[index];
    *tensor = (struct tensor){.dtype = output->dtype,
                              .dimensions = output->dimensions,
                              .bytes = output->bytes,
                              .count = output->bytes / dtype_facts(output->dtype)->bytes};
    memcpy(tensor->shape, output->shape, sizeof tensor->shape);
    if (side->done.count == 0)
        tensor->data = side->slot.data + slot * side->layout.bytes + output->address;
    return 0;
}

int side_output(struct side *side, uint32_t slot, uint32_t index, struct tensor *tensor,
                struct err *err)
{
    int result = side_output_form(side, slot, index, tensor, err);
    if (result < 0 || side->done.count == 0)
        return result;
    if (side->buffer_bytes[index] < tensor->bytes) {
        side->buffers[index] = mem_resize(side->buffers[index], tensor->bytes);
        side->buffer_bytes[index] = tensor->bytes;
    }
    tensor->data = side->buffers[index];
    return boxed_read(&side->boxed, side->done.outputs[index].address, side->buffers[index],
                      tensor->bytes, err);
}
