#include "judge/process/output.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/random.h"
#include "judge/process/child.h"

#include <string.h>

/* Where outputs lie: native ones in the slot, torch ones in the child's own memory. */
static uint32_t list_outputs(const struct child *child, struct wire_output *outputs)
{
    uint32_t count = 0;
    if (child->outputs.done.count > 0) {
        memcpy(outputs, child->outputs.done.outputs, child->outputs.done.count * sizeof *outputs);
        return child->outputs.done.count;
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

/* 0 or the error's code. */
static int peek_on_host(struct child *child, const struct wire_output *output, uint64_t offset,
                        void *into, size_t bytes)
{
    struct err ignored;
    if (child->outputs.done.count > 0)
        return sandboxed_read(&child->process, output->address + offset, into, bytes, &ignored);
    memcpy(into, child->slot.data + output->address + offset, bytes);
    return 0;
}

/* Where an output lies on the GPU, in the judge's context; 0: nowhere that the judge knows. */
static cuda_at output_at(const struct child *child, const struct wire_output *output)
{
    return child->outputs.done.count > 0 ? child_locate(child, output->address, output->bytes)
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

/* A sample that lies where it has announced no memory; NULL: none does. */
static const struct child_sample *peek_on_gpu(struct child *child,
                                              const struct wire_output *outputs,
                                              struct child_sample samples[CHILD_SAMPLES])
{
    const struct child_sample *hidden = NULL;
    struct gpu_addresses places = {0};
    struct err ignored;
    char *into = child->outputs.pinned;
    for (int i = 0; i < CHILD_SAMPLES; i++) {
        cuda_at start = samples[i].taken ? output_at(child, &outputs[samples[i].output]) : 0;
        hidden = samples[i].taken && start == 0 ? &samples[i] : hidden;
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
    return hidden;
}

void child_forget_outputs(struct child *child)
{
    for (int i = 0; i < WIRE_OUTPUTS; i++) {
        mem_free(child->outputs.buffers[i]);
        child->outputs.buffers[i] = NULL;
        child->outputs.buffer_bytes[i] = 0;
    }
}

int child_prepare_samples(struct child *child, struct err *err)
{
    if (!child->gpu || child->outputs.pinned)
        return 0;
    int result = gpu_context_use(child->gpu, err);
    return result < 0
               ? result
               : cuda_check(&child->gpu->cuda,
                            child->gpu->cuda.host_alloc(&child->outputs.pinned,
                                                        GPU_ADDRESSES * GPU_ADDRESS_BYTES, 0),
                            "cannot make host memory for samples", err);
}

void child_take_samples(struct child *child)
{
    struct child_sample *samples = child->outputs.samples;
    struct wire_output outputs[WIRE_OUTPUTS];
    uint32_t count = list_outputs(child, outputs);
    uint64_t state = clock_secret();
    child->outputs.hidden = NULL;
    for (int i = 0; i < CHILD_SAMPLES; i++) {
        struct child_sample *sample = &samples[i];
        sample->taken = false;
        if (count == 0 || child->outputs.hidden)
            continue;
        sample->output = (uint32_t)(random_next(&state) % count);
        uint64_t bytes = outputs[sample->output].bytes;
        sample->bytes = bytes < CHILD_SAMPLE_BYTES ? bytes : CHILD_SAMPLE_BYTES;
        uint64_t lines = (bytes + CHILD_SAMPLE_BYTES - 1) / CHILD_SAMPLE_BYTES;
        sample->offset = lines ? random_next(&state) % lines * CHILD_SAMPLE_BYTES : 0;
        if (sample->offset > bytes - sample->bytes)
            sample->offset = bytes - sample->bytes; /* the last line need not be whole */
        if (child_has_slot_outputs(child))
            sample->offset += random_next(&state) % child->slots * child->layout.bytes;
        sample->taken = sample->bytes > 0;
        if (child->gpu || !sample->taken)
            continue;
        int result = peek_on_host(child, &outputs[sample->output], sample->offset, sample->data,
                                  sample->bytes);
        sample->taken = result == 0;
        child->outputs.hidden = result == ERR_PROTOCOL ? sample : NULL;
    }
    if (child->gpu)
        child->outputs.hidden = peek_on_gpu(child, outputs, samples);
}

/* What lies there now; the mirror, where it has just been brought up to date. */
static void peek_again(struct child *child, bool on_gpu, const struct wire_output *outputs,
                       struct child_sample samples[CHILD_SAMPLES])
{
    if (child->gpu && (on_gpu || !child_has_slot_outputs(child))) {
        (void)peek_on_gpu(child, outputs, samples);
        return;
    }
    for (int i = 0; i < CHILD_SAMPLES; i++)
        samples[i].taken = samples[i].taken &&
                           peek_on_host(child, &outputs[samples[i].output], samples[i].offset,
                                        samples[i].data, samples[i].bytes) == 0;
}

/* One that lies nowhere still is no late one: it cannot be read, which is said when it is. */
static bool came_to_light(struct child *child, const struct wire_output *outputs, uint32_t count)
{
    const struct child_sample *hidden = child->outputs.hidden;
    unsigned char ignored[CHILD_SAMPLE_BYTES];
    if (hidden->output >= count)
        return true;
    const struct wire_output *output = &outputs[hidden->output];
    return child->gpu ? output_at(child, output) != 0
                      : peek_on_host(child, output, hidden->offset, ignored, hidden->bytes) == 0;
}

bool child_samples_changed(struct child *child, bool on_gpu)
{
    struct wire_output outputs[WIRE_OUTPUTS];
    struct child_sample now[CHILD_SAMPLES];
    uint32_t count = list_outputs(child, outputs);
    if (child->outputs.hidden)
        return came_to_light(child, outputs, count);
    memcpy(now, child->outputs.samples, sizeof now);
    for (int i = 0; i < CHILD_SAMPLES; i++)
        now[i].taken &= now[i].output < count;
    peek_again(child, on_gpu, outputs, now);
    for (int i = 0; i < CHILD_SAMPLES; i++)
        if (child->outputs.samples[i].taken &&
            (!now[i].taken ||
             memcmp(now[i].data, child->outputs.samples[i].data, now[i].bytes) != 0))
            return true;
    return false;
}

uint32_t child_output_count(const struct child *child)
{
    struct wire_output outputs[WIRE_OUTPUTS];
    return child->outputs.done.count > 0 ? child->outputs.done.count / child->slots
                                         : list_outputs(child, outputs);
}

int child_output_form(const struct child *child, uint32_t slot, uint32_t index,
                      struct tensor *tensor, struct err *err)
{
    struct wire_output outputs[WIRE_OUTPUTS];
    uint32_t count = list_outputs(child, outputs);
    uint32_t place = child->outputs.done.count > 0 ? slot * (count / child->slots) + index : index;
    if (place >= count)
        return err_set(err, ERR_INTERNAL, "there is no output %u", index);
    const struct wire_output *output = &outputs[place];
    uint32_t dtype = output->dtype & ~(uint32_t)WIRE_COMPLEX;
    *tensor = (struct tensor){.dtype = dtype,
                              .complex = output->dtype & WIRE_COMPLEX,
                              .dimensions = output->dimensions,
                              .bytes = output->bytes,
                              .count = output->bytes / dtype_facts(dtype)->bytes};
    memcpy(tensor->shape, output->shape, sizeof tensor->shape);
    if (child->outputs.done.count == 0)
        tensor->data = child->slot.data + slot * child->layout.bytes + output->address;
    else if (child->gpu)
        tensor->at = output_at(child, output);
    return 0;
}

uint64_t child_copies_grow(const struct child *child, const struct child *of)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; !of->gpu && i < of->outputs.done.count; i++) {
        uint64_t wanted = of->outputs.done.outputs[i].bytes;
        uint64_t has = child->outputs.buffer_bytes[i];
        bytes += wanted > has ? wanted - has : 0;
    }
    return bytes;
}

/* Of a torch child on the CPU: read from its memory. */
static int copy_output(struct child *child, uint32_t place, struct tensor *tensor, struct err *err)
{
    if (child->outputs.buffer_bytes[place] < tensor->bytes) {
        child->outputs.buffers[place] = mem_resize(child->outputs.buffers[place], tensor->bytes);
        child->outputs.buffer_bytes[place] = tensor->bytes;
    }
    tensor->data = child->outputs.buffers[place];
    return sandboxed_read(&child->process, child->outputs.done.outputs[place].address,
                          child->outputs.buffers[place], tensor->bytes, err);
}

int child_output(struct child *child, uint32_t slot, uint32_t index, struct tensor *tensor,
                 struct err *err)
{
    int result = child_output_form(child, slot, index, tensor, err);
    if (result < 0 || child->outputs.done.count == 0)
        return result;
    if (!child->gpu)
        return copy_output(child, slot * child_output_count(child) + index, tensor, err);
    if (tensor->at == 0 && tensor->bytes > 0)
        return err_set(err, ERR_PROTOCOL, "output %u lies in memory that it has not announced",
                       index);
    return 0;
}
