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

/* Where an output lies on the GPU, in the judge's context; 0: nowhere that the judge knows. */
static cuda_at output_at(const struct side *side, const struct wire_output *output)
{
    return side->done.count > 0 ? side_locate(side, output->address, output->bytes)
                                : side->arrays.address + output->address;
}

/* Without kernels of the judge's own: all are asked for before any is waited for. */
static bool copy_samples(const struct side *side, const struct gpu_places *places, char *into)
{
    const struct cuda *cuda = &side->gpu->cuda;
    cuda_result result = 0;
    for (int i = 0; result == 0 && i < SIDE_SAMPLES; i++)
        if (places->bytes[i])
            result = cuda->copy_to_host_later(into + (size_t)i * GPU_PLACE_BYTES, places->at[i],
                                              places->bytes[i], NULL);
    return cuda->synchronize() == 0 && result == 0;
}

_Static_assert(SIDE_SAMPLES <= GPU_PLACES && SIDE_SAMPLE_BYTES <= GPU_PLACE_BYTES,
               "samples of a GPU are gathered at once");

static void peek_on_gpu(struct side *side, const struct wire_output *outputs,
                        struct side_sample samples[SIDE_SAMPLES])
{
    struct gpu_places places = {0};
    struct err ignored;
    char *into = side->pinned;
    for (int i = 0; i < SIDE_SAMPLES; i++) {
        cuda_at start = samples[i].taken ? output_at(side, &outputs[samples[i].output]) : 0;
        samples[i].taken = start != 0;
        places.at[i] = start + samples[i].offset;
        places.bytes[i] = start ? (uint32_t)samples[i].bytes : 0;
    }
    bool read = side->work ? gpu_work_gather(side->work, &places, into, &ignored) == 0
                           : copy_samples(side, &places, into);
    for (int i = 0; i < SIDE_SAMPLES; i++) {
        samples[i].taken &= read;
        if (samples[i].taken)
            memcpy(samples[i].data, into + (size_t)i * GPU_PLACE_BYTES, samples[i].bytes);
    }
}

/* Random places of random outputs, chosen by the judge after the candidate has said DONE. */
static void take_samples(struct side *side, struct side_sample samples[SIDE_SAMPLES])
{
    struct wire_output outputs[WIRE_OUTPUTS];
    uint32_t count = list_outputs(side, outputs);
    uint64_t state = clock_secret();
    for (int i = 0; i < SIDE_SAMPLES; i++) {
        struct side_sample *sample = &samples[i];
        sample->taken = false;
        if (count == 0)
            continue;
        state = state * 6364136223846793005U + 1442695040888963407U;
        sample->output = (uint32_t)((state >> 33) % count);
        state = state * 6364136223846793005U + 1442695040888963407U;
        uint64_t bytes = outputs[sample->output].bytes;
        uint64_t lines = bytes / SIDE_SAMPLE_BYTES;
        sample->offset = lines ? (state >> 20) % lines * SIDE_SAMPLE_BYTES : 0;
        state = state * 6364136223846793005U + 1442695040888963407U;
        if (side->slot_outputs)
            sample->offset += (state >> 33) % side->slots * side->layout.bytes;
        sample->bytes = bytes < SIDE_SAMPLE_BYTES ? bytes : SIDE_SAMPLE_BYTES;
        sample->taken = sample->bytes > 0;
        if (!side->gpu && sample->taken)
            sample->taken = peek(side, &outputs[sample->output], sample->offset, sample->data,
                                 sample->bytes) == 0;
    }
    if (side->gpu)
        peek_on_gpu(side, outputs, samples);
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

/* What lies there now; the mirror, where it has just been brought up to date. */
static void peek_again(struct side *side, const struct wire_output *outputs,
                       struct side_sample samples[SIDE_SAMPLES])
{
    if (side->gpu && (side->stays_on_gpu || !side->slot_outputs)) {
        peek_on_gpu(side, outputs, samples);
        return;
    }
    for (int i = 0; i < SIDE_SAMPLES; i++)
        samples[i].taken = samples[i].taken &&
                           peek(side, &outputs[samples[i].output], samples[i].offset,
                                samples[i].data, samples[i].bytes) == 0;
}

bool side_samples_changed(struct side *side)
{
    struct wire_output outputs[WIRE_OUTPUTS];
    struct side_sample now[SIDE_SAMPLES];
    uint32_t count = list_outputs(side, outputs);
    memcpy(now, side->samples, sizeof now);
    for (int i = 0; i < SIDE_SAMPLES; i++)
        now[i].taken &= now[i].output < count;
    peek_again(side, outputs, now);
    for (int i = 0; i < SIDE_SAMPLES; i++)
        if (side->samples[i].taken &&
            (!now[i].taken || memcmp(now[i].data, side->samples[i].data, now[i].bytes) != 0))
            return true;
    return false;
}

/* Anything on the channel now was not asked for. */
static bool speaks(const struct side *side)
{
    char byte;
    return recv(side->boxed.channel, &byte, 1, MSG_DONTWAIT | MSG_PEEK) > 0;
}

/* Waits until there is an answer on the channel, or it ended. */
static int wait_done(struct side *side, int64_t deadline_ns, struct err *err)
{
    struct pollfd wait = {.fd = side->boxed.channel, .events = POLLIN};
    for (;;) {
        int left_ms = clock_left_ms(deadline_ns);
        if (poll(&wait, 1, side_hold_tick_ms(side, left_ms)) > 0) {
            if (!side_asks(side))
                return 0;
            int result = side_serve(side, &deadline_ns, err);
            if (result < 0)
                return result;
            continue;
        }
        if (side->cancelled && *side->cancelled)
            return err_set(err, ERR_CANCELLED, "cancelled");
        if (clock_now_ns() >= deadline_ns)
            return err_set(err, ERR_TIMEOUT, "one call took longer than it may");
        int result = side_hold_look(side, err);
        if (result < 0)
            return result;
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
        memcpy(&side->done, &message->done, bytes < sizeof side->done ? bytes : sizeof side->done);
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

static int make_pinned(struct side *side, struct err *err)
{
    if (!side->gpu || side->pinned)
        return 0;
    int result = gpu_context_use(side->gpu, err);
    return result < 0 ? result
                      : cuda_check(&side->gpu->cuda,
                                   side->gpu->cuda.host_alloc(&side->pinned,
                                                              GPU_PLACES * GPU_PLACE_BYTES, 0),
                                   "cannot make host memory for samples", err);
}

int side_call(struct side *side, uint32_t mode, uint64_t noise, int64_t timeout_ms,
              struct side_time *time, struct err *err)
{
    struct wire_call call = {.type = WIRE_CALL, .mode = mode, .noise = noise, .calls = side->calls};
    if (side->program)
        call.noise = 0; /* nothing that it has to know */
    int result = boxed_freeze(&side->boxed, err);
    if (result == 0)
        result = make_pinned(side, err);
    if (result < 0)
        return result;
    int64_t deadline_ns = clock_now_ns() + timeout_ms * 1000000;
    while (side_asks(side) == WIRE_SEGMENT) { /* a thread took memory after the last call's end */
        result = side_serve(side, &deadline_ns, err);
        if (result < 0)
            return result;
    }
    if (speaks(side)) {
        side->spoke = true;
        return err_set(err, ERR_PROTOCOL, "it sent a message that nobody asked for");
    }
    side->answers = true;
    result = wire_send(side->boxed.channel, &call, sizeof call, &side->trace, mode == WIRE_TRACE,
                       err);
    if (result < 0)
        return result == ERR_CRASH ? side_explain_end(side, err) : result;
    if (side->seat)
        seat_assign(side->seat, side->boxed.pid);
    int64_t start_ns = side->clock_ns ? side->clock_ns : clock_now_ns();
    int64_t inputs_ns = side->clock_ns ? side->inputs_ns - start_ns : 0;
    side->clock_ns = 0;
    boxed_thaw(&side->boxed);
    if (side->seat)
        seat_open(side->seat, side->boxed.pid);
    result = receive_done(side, start_ns + timeout_ms * 1000000, err);
    if (result < 0)
        return result;
    side->answers = false;
    /* The clock stops when samples of the answer are in the judge's hands, not when the side says
     * that there is one: what it still does in between is on its own time. How long that takes is
     * kept apart, because much of it is the judge's doing (timing.c). */
    int64_t done_ns = clock_now_ns();
    take_samples(side, side->samples);
    int64_t stop_ns = clock_now_ns();
    if (side->seat)
        seat_recall(side->seat, side->boxed.pid);
    result = boxed_freeze(&side->boxed, err);
    if (result < 0)
        return result;
    *time = (struct side_time){.ms = (double)(done_ns - start_ns) * 1e-6,
                               .inputs_ms = (double)inputs_ns * 1e-6,
                               .sample_ms = (double)(stop_ns - done_ns) * 1e-6,
                               .freeze_us = (double)(clock_now_ns() - stop_ns) * 1e-3,
                               .own_ms = (double)side->done.own_ns * 1e-6};
    result = side_hold_check(side, err);
    if (result < 0)
        return result;
    if (side->stays_on_gpu)
        return 0; /* whoever reads its outputs there looks at the samples then */
    result = (mode == WIRE_RUN || mode == WIRE_TRACE) && side->slot_outputs ? side_pull(side, err)
                                                                            : 0;
    if (result < 0)
        return result;
    if (side_samples_changed(side))
        side->late = true;
    return 0;
}

uint32_t side_output_count(const struct side *side)
{
    struct wire_output outputs[WIRE_OUTPUTS];
    return side->done.count > 0 ? side->done.count / side->slots : list_outputs(side, outputs);
}

int side_output_form(const struct side *side, uint32_t slot, uint32_t index, struct tensor *tensor,
                     struct err *err)
{
    struct wire_output outputs[WIRE_OUTPUTS];
    uint32_t count = list_outputs(side, outputs);
    uint32_t place = side->done.count > 0 ? slot * (count / side->slots) + index : index;
    if (place >= count)
        return err_set(err, ERR_INTERNAL, "there is no output %u", index);
    const struct wire_output *output = &outputs[place];
    *tensor = (struct tensor){.dtype = output->dtype,
                              .dimensions = output->dimensions,
                              .bytes = output->bytes,
                              .count = output->bytes / dtype_facts(output->dtype)->bytes};
    memcpy(tensor->shape, output->shape, sizeof tensor->shape);
    if (side->done.count == 0)
        tensor->data = side->slot.data + slot * side->layout.bytes + output->address;
    else if (side->gpu)
        tensor->at = output_at(side, output);
    return 0;
}

/* Of a torch side on the CPU: read from its memory. */
static int copy_output(struct side *side, uint32_t place, struct tensor *tensor, struct err *err)
{
    if (side->buffer_bytes[place] < tensor->bytes) {
        side->buffers[place] = mem_resize(side->buffers[place], tensor->bytes);
        side->buffer_bytes[place] = tensor->bytes;
    }
    tensor->data = side->buffers[place];
    return boxed_read(&side->boxed, side->done.outputs[place].address, side->buffers[place],
                      tensor->bytes, err);
}

int side_output(struct side *side, uint32_t slot, uint32_t index, struct tensor *tensor,
                struct err *err)
{
    int result = side_output_form(side, slot, index, tensor, err);
    if (result < 0 || side->done.count == 0)
        return result;
    if (!side->gpu)
        return copy_output(side, slot * side_output_count(side) + index, tensor, err);
    if (tensor->at == 0 && tensor->bytes > 0)
        return err_set(err, ERR_PROTOCOL, "output %u lies in memory that the judge was not told of",
                       index);
    return 0;
}
