/* call: the one moment in which a child runs. Declared in child.h. */
#include "judge/process/child.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Where outputs lie: native ones in the slot, torch ones in the child's own memory. */
static uint32_t list_outputs(const struct child *child, struct wire_output *outputs)
{
    uint32_t count = 0;
    if (child->done.count > 0) {
        memcpy(outputs, child->done.outputs, child->done.count * sizeof *outputs);
        return child->done.count;
    }
    for (uint32_t i = 0; i < child->layout.count; i++) {
        const struct layout_argument *argument = &child->layout.arguments[i];
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

static int peek(const struct child *child, const struct wire_output *output, uint64_t offset,
                void *into, size_t bytes)
{
    struct err ignored;
    if (child->done.count > 0)
        return sandboxed_read(&child->process, output->address + offset, into, bytes, &ignored);
    memcpy(into, child->slot.data + output->address + offset, bytes);
    return 0;
}

/* Where an output lies on the GPU, in the judge's context; 0: nowhere that the judge knows. */
static cuda_at output_at(const struct child *child, const struct wire_output *output)
{
    return child->done.count > 0 ? child_locate(child, output->address, output->bytes)
                                 : child->arrays.address + output->address;
}

/* Without kernels of the judge's own: all are asked for before any is waited for. */
static bool copy_samples(const struct child *child, const struct gpu_addresses *places, char *into)
{
    const struct cuda *cuda = &child->gpu->cuda;
    cuda_result result = 0;
    for (int i = 0; result == 0 && i < CHILD_SAMPLES; i++)
        if (places->bytes[i])
            result = cuda->copy_to_host_later(into + (size_t)i * GPU_ADDRESS_BYTES, places->at[i],
                                              places->bytes[i], NULL);
    return cuda->synchronize() == 0 && result == 0;
}

_Static_assert(CHILD_SAMPLES <= GPU_ADDRESSES && CHILD_SAMPLE_BYTES <= GPU_ADDRESS_BYTES,
               "samples of a GPU are gathered at once");

static void peek_on_gpu(struct child *child, const struct wire_output *outputs,
                        struct child_sample samples[CHILD_SAMPLES])
{
    struct gpu_addresses places = {0};
    struct err ignored;
    char *into = child->pinned;
    for (int i = 0; i < CHILD_SAMPLES; i++) {
        cuda_at start = samples[i].taken ? output_at(child, &outputs[samples[i].output]) : 0;
        samples[i].taken = start != 0;
        places.at[i] = start + samples[i].offset;
        places.bytes[i] = start ? (uint32_t)samples[i].bytes : 0;
    }
    bool read = child->work ? gpu_work_gather(child->work, &places, into, &ignored) == 0
                            : copy_samples(child, &places, into);
    for (int i = 0; i < CHILD_SAMPLES; i++) {
        samples[i].taken &= read;
        if (samples[i].taken)
            memcpy(samples[i].data, into + (size_t)i * GPU_ADDRESS_BYTES, samples[i].bytes);
    }
}

/* Random places of random outputs, chosen by the judge after the candidate has said DONE. */
static void take_samples(struct child *child, struct child_sample samples[CHILD_SAMPLES])
{
    struct wire_output outputs[WIRE_OUTPUTS];
    uint32_t count = list_outputs(child, outputs);
    uint64_t state = clock_secret();
    for (int i = 0; i < CHILD_SAMPLES; i++) {
        struct child_sample *sample = &samples[i];
        sample->taken = false;
        if (count == 0)
            continue;
        state = state * 6364136223846793005U + 1442695040888963407U;
        sample->output = (uint32_t)((state >> 33) % count);
        state = state * 6364136223846793005U + 1442695040888963407U;
        uint64_t bytes = outputs[sample->output].bytes;
        uint64_t lines = bytes / CHILD_SAMPLE_BYTES;
        sample->offset = lines ? (state >> 20) % lines * CHILD_SAMPLE_BYTES : 0;
        state = state * 6364136223846793005U + 1442695040888963407U;
        if (child_has_slot_outputs(child))
            sample->offset += (state >> 33) % child->slots * child->layout.bytes;
        sample->bytes = bytes < CHILD_SAMPLE_BYTES ? bytes : CHILD_SAMPLE_BYTES;
        sample->taken = sample->bytes > 0;
        if (!child->gpu && sample->taken)
            sample->taken = peek(child, &outputs[sample->output], sample->offset, sample->data,
                                 sample->bytes) == 0;
    }
    if (child->gpu)
        peek_on_gpu(child, outputs, samples);
}

/* What it computed on a GPU comes into the mirror, of which everything else is read. What still
 * runs there although the child is stopped may change it until now: then the samples, which were
 * taken on the clock, say something else. */
int child_pull(struct child *child, struct err *err)
{
    return child->gpu ? gpu_memory_read(&child->arrays, 0, child->slot.data,
                                        child->slots * child->layout.bytes, err)
                      : 0;
}

/* What lies there now; the mirror, where it has just been brought up to date. */
static void peek_again(struct child *child, const struct wire_output *outputs,
                       struct child_sample samples[CHILD_SAMPLES])
{
    if (child->gpu && (child->stays_on_gpu || !child_has_slot_outputs(child))) {
        peek_on_gpu(child, outputs, samples);
        return;
    }
    for (int i = 0; i < CHILD_SAMPLES; i++)
        samples[i].taken = samples[i].taken &&
                           peek(child, &outputs[samples[i].output], samples[i].offset,
                                samples[i].data, samples[i].bytes) == 0;
}

bool child_samples_changed(struct child *child)
{
    struct wire_output outputs[WIRE_OUTPUTS];
    struct child_sample now[CHILD_SAMPLES];
    uint32_t count = list_outputs(child, outputs);
    memcpy(now, child->samples, sizeof now);
    for (int i = 0; i < CHILD_SAMPLES; i++)
        now[i].taken &= now[i].output < count;
    peek_again(child, outputs, now);
    for (int i = 0; i < CHILD_SAMPLES; i++)
        if (child->samples[i].taken &&
            (!now[i].taken || memcmp(now[i].data, child->samples[i].data, now[i].bytes) != 0))
            return true;
    return false;
}

/* Anything on the channel now was not asked for. */
static bool speaks(const struct child *child)
{
    char byte;
    return recv(child->process.channel, &byte, 1, MSG_DONTWAIT | MSG_PEEK) > 0;
}

/* Waits until there is an answer on the channel, or it ended. */
static int wait_done(struct child *child, int64_t deadline_ns, struct err *err)
{
    struct pollfd wait = {.fd = child->process.channel, .events = POLLIN};
    for (;;) {
        int left_ms = clock_left_ms(deadline_ns);
        if (poll(&wait, 1, child_watch_ms(child, left_ms)) > 0) {
            if (!child_pending_request(child))
                return 0;
            int result = child_serve_request(child, &deadline_ns, err);
            if (result < 0)
                return result;
            continue;
        }
        if (child->cancelled && *child->cancelled)
            return err_set(err, ERR_CANCELLED, "cancelled");
        if (clock_now_ns() >= deadline_ns)
            return err_set(err, ERR_TIMEOUT, "one call took longer than it may");
        int result = child_watch_memory(child, err);
        if (result < 0)
            return result;
    }
}

static int read_answer(struct child *child, union wire_message *message, struct err *err)
{
    int descriptors[WIRE_DESCRIPTORS];
    size_t bytes;
    int result = wire_receive(child->process.channel, message, &bytes, descriptors, err);
    for (int i = 0; i < WIRE_DESCRIPTORS; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
    if (result == ERR_CRASH || result == ERR_IO)
        return child_explain_end(child, err);
    if (result < 0)
        return result;
    if (message->type == WIRE_DONE) {
        memcpy(&child->done, &message->done,
               bytes < sizeof child->done ? bytes : sizeof child->done);
        if (child_has_slot_outputs(child))
            child->done.count = 0;
        return wire_check_done(&child->done, err);
    }
    if (message->type != WIRE_FAILED)
        return err_set(err, ERR_PROTOCOL, "it sent a message that does not belong there");
    child_take_failure(child, &message->failed);
    return err_set(err, ERR_INPUT, "%.600s", child->failed.text);
}

static int receive_done(struct child *child, int64_t deadline_ns, struct err *err)
{
    int result = wait_done(child, deadline_ns, err);
    return result < 0 ? result : read_answer(child, child->answer, err);
}

static int make_pinned(struct child *child, struct err *err)
{
    if (!child->gpu || child->pinned)
        return 0;
    int result = gpu_context_use(child->gpu, err);
    return result < 0
               ? result
               : cuda_check(&child->gpu->cuda,
                            child->gpu->cuda.host_alloc(&child->pinned,
                                                        GPU_ADDRESSES * GPU_ADDRESS_BYTES, 0),
                            "cannot make host memory for samples", err);
}

int child_call(struct child *child, uint32_t mode, uint64_t noise, int64_t timeout_ms,
               struct child_time *time, struct err *err)
{
    struct wire_call call = {.type = WIRE_CALL,
                             .mode = mode,
                             .noise = noise,
                             .calls = child->calls};
    if (child->kind == CHILD_PROGRAM)
        call.noise = 0; /* nothing that it has to know */
    int result = sandboxed_freeze(&child->process, err);
    if (result == 0)
        result = make_pinned(child, err);
    if (result < 0)
        return result;
    int64_t deadline_ns = clock_now_ns() + timeout_ms * 1000000;
    while (child_pending_request(child) ==
           WIRE_SEGMENT) { /* a thread took memory after the last call's end */
        result = child_serve_request(child, &deadline_ns, err);
        if (result < 0)
            return result;
    }
    if (speaks(child)) {
        child->breach = CHILD_SPOKE;
        return err_set(err, ERR_PROTOCOL, "it sent a message that nobody asked for");
    }
    child->state = CHILD_BUSY;
    result = wire_send(child->process.channel, &call, sizeof call, &child->trace,
                       mode == WIRE_TRACE, err);
    if (result < 0)
        return result == ERR_CRASH ? child_explain_end(child, err) : result;
    if (child->affinity)
        cpu_affinity_place(child->affinity, child->process.pid);
    int64_t start_ns = child->clock_ns ? child->clock_ns : clock_now_ns();
    int64_t inputs_ns = child->clock_ns ? child->inputs_ns - start_ns : 0;
    child->clock_ns = 0;
    sandboxed_thaw(&child->process);
    if (child->affinity)
        cpu_affinity_release_main(child->affinity, child->process.pid);
    result = receive_done(child, start_ns + timeout_ms * 1000000, err);
    if (result < 0)
        return result;
    child->state = CHILD_READY;
    /* The clock stops when samples of the answer are in the judge's hands, not when the child says
     * that there is one: what it still does in between is on its own time. How long that takes is
     * kept apart, because much of it is the judge's doing (timing.c). */
    int64_t done_ns = clock_now_ns();
    take_samples(child, child->samples);
    int64_t stop_ns = clock_now_ns();
    if (child->affinity)
        cpu_affinity_recall_main(child->affinity, child->process.pid);
    result = sandboxed_freeze(&child->process, err);
    if (result < 0)
        return result;
    *time = (struct child_time){.ms = (double)(done_ns - start_ns) * 1e-6,
                                .inputs_ms = (double)inputs_ns * 1e-6,
                                .sample_ms = (double)(stop_ns - done_ns) * 1e-6,
                                .freeze_us = (double)(clock_now_ns() - stop_ns) * 1e-3,
                                .own_ms = (double)child->done.own_ns * 1e-6};
    result = child_check_memory(child, err);
    if (result < 0)
        return result;
    if (child->stays_on_gpu)
        return 0; /* whoever reads its outputs there looks at the samples then */
    result = (mode == WIRE_RUN || mode == WIRE_TRACE) && child_has_slot_outputs(child)
                 ? child_pull(child, err)
                 : 0;
    if (result < 0)
        return result;
    if (child_samples_changed(child))
        child->breach = CHILD_LATE;
    return 0;
}

uint32_t child_output_count(const struct child *child)
{
    struct wire_output outputs[WIRE_OUTPUTS];
    return child->done.count > 0 ? child->done.count / child->slots : list_outputs(child, outputs);
}

int child_output_form(const struct child *child, uint32_t slot, uint32_t index,
                      struct tensor *tensor, struct err *err)
{
    struct wire_output outputs[WIRE_OUTPUTS];
    uint32_t count = list_outputs(child, outputs);
    uint32_t place = child->done.count > 0 ? slot * (count / child->slots) + index : index;
    if (place >= count)
        return err_set(err, ERR_INTERNAL, "there is no output %u", index);
    const struct wire_output *output = &outputs[place];
    *tensor = (struct tensor){.dtype = output->dtype,
                              .dimensions = output->dimensions,
                              .bytes = output->bytes,
                              .count = output->bytes / dtype_facts(output->dtype)->bytes};
    memcpy(tensor->shape, output->shape, sizeof tensor->shape);
    if (child->done.count == 0)
        tensor->data = child->slot.data + slot * child->layout.bytes + output->address;
    else if (child->gpu)
        tensor->at = output_at(child, output);
    return 0;
}

/* Of a torch child on the CPU: read from its memory. */
static int copy_output(struct child *child, uint32_t place, struct tensor *tensor, struct err *err)
{
    if (child->buffer_bytes[place] < tensor->bytes) {
        child->buffers[place] = mem_resize(child->buffers[place], tensor->bytes);
        child->buffer_bytes[place] = tensor->bytes;
    }
    tensor->data = child->buffers[place];
    return sandboxed_read(&child->process, child->done.outputs[place].address,
                          child->buffers[place], tensor->bytes, err);
}

int child_output(struct child *child, uint32_t slot, uint32_t index, struct tensor *tensor,
                 struct err *err)
{
    int result = child_output_form(child, slot, index, tensor, err);
    if (result < 0 || child->done.count == 0)
        return result;
    if (!child->gpu)
        return copy_output(child, slot * child_output_count(child) + index, tensor, err);
    if (tensor->at == 0 && tensor->bytes > 0)
        return err_set(err, ERR_PROTOCOL, "output %u lies in memory that the judge was not told of",
                       index);
    return 0;
}
