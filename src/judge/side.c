#include "judge/side.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "judge/oracle.h"
#include "judge/program.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SPAWN_TIMEOUT_MS 20000
#define END_GRACE_MS 1000 /* between a closed channel and the death behind it */

int side_explain_end(struct side *side, struct err *err)
{
    struct pollfd wait = {.fd = side->boxed.pid_fd, .events = POLLIN};
    char how[96];
    if (poll(&wait, 1, END_GRACE_MS) <= 0 || !boxed_ended(&side->boxed))
        return err_set(err, ERR_PROTOCOL, "it closed its channel to the judge");
    boxed_status_text(&side->boxed, how, sizeof how);
    return err_set(err, ERR_CRASH, "the process %s", how);
}

/* Waits for a message, the process's end, the deadline or a cancellation. */
static int await(struct side *side, int64_t deadline_ns, struct err *err)
{
    struct pollfd waits[2] = {{.fd = side->boxed.channel, .events = POLLIN},
                              {.fd = side->boxed.pid_fd, .events = POLLIN}};
    for (;;) {
        int left_ms = clock_left_ms(deadline_ns);
        int ready = poll(waits, 2, side_hold_tick_ms(side, left_ms));
        if (ready < 0 && errno != EINTR)
            return err_sys(err, errno, "cannot wait for a side");
        if (ready > 0 && (waits[0].revents & POLLIN))
            return 0;
        if (ready > 0)
            return side_explain_end(side, err);
        if (side->cancelled && *side->cancelled)
            return err_set(err, ERR_CANCELLED, "cancelled");
        if (left_ms == 0)
            return err_set(err, ERR_TIMEOUT, "no answer in time");
        int result = side_hold_look(side, err);
        if (result < 0)
            return result;
    }
}

static void close_all(int descriptors[WIRE_DESCRIPTORS])
{
    for (int i = 0; i < WIRE_DESCRIPTORS; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
}

void side_take_failure(struct side *side, const struct wire_failed *failed)
{
    side->failed = *failed;
    side->answers = false; /* that was it */
    side->failed.text[sizeof side->failed.text - 1] = '\0';
    if (side->failed.failure == FAILED_NONE || side->failed.failure > FAILED_COMPILE)
        side->failed.failure = FAILED_RUN;
}

int side_expect(struct side *side, uint32_t type, int64_t deadline_ns, union wire_message *message,
                int descriptors[WIRE_DESCRIPTORS], struct err *err)
{
    size_t bytes;
    int result = await(side, deadline_ns, err);
    while (result == 0 && side_asks(side)) {
        result = side_serve(side, &deadline_ns, err);
        if (result == 0)
            result = await(side, deadline_ns, err);
    }
    if (result < 0)
        return result;
    result = wire_receive(side->boxed.channel, message, &bytes, descriptors, err);
    if (result == ERR_CRASH || result == ERR_IO)
        return side_explain_end(side, err);
    if (result == 0 && message->type == type)
        return 0;
    close_all(descriptors);
    if (result == 0 && message->type == WIRE_FAILED) {
        side_take_failure(side, &message->failed);
        return err_set(err, ERR_INPUT, "%.600s", side->failed.text);
    }
    return err_set(err, ERR_PROTOCOL, "it sent a message that the protocol does not know");
}

static int finish_open(struct side *side, int64_t deadline_ns, struct wire_opened *opened,
                       int opened_descriptors[WIRE_DESCRIPTORS], struct err *err)
{
    union wire_message *message = mem_alloc(sizeof *message);
    int descriptors[WIRE_DESCRIPTORS];
    int result = side_expect(side, side->program ? WIRE_PROGRAM_OPENED : WIRE_OPENED, deadline_ns,
                             message, descriptors, err);
    if (result == 0) {
        side->boxed.layers |= side->program ? 0 : message->opened.layers;
        if (opened)
            *opened = message->opened;
        if (opened_descriptors)
            memcpy(opened_descriptors, descriptors, sizeof descriptors);
        else
            close_all(descriptors);
    }
    mem_free(message);
    return result;
}

static int send_open(struct side *side, const struct side_start *start, struct err *err)
{
    const void *message = start->message;
    size_t bytes = sizeof *start->message;
    if (start->program) {
        message = start->program->open;
        bytes = sizeof *start->program->open;
    }
    int result = wire_send(side->boxed.channel, message, bytes, start->descriptors,
                           start->descriptor_count, err);
    return result == ERR_CRASH && start->program ? side_explain_end(side, err) : result;
}

int side_open(struct side *side, const struct side_start *start, struct wire_opened *opened,
              int opened_descriptors[WIRE_DESCRIPTORS], struct err *err)
{
    memset(side, 0, sizeof *side);
    side->role = start->message->role;
    side->slots = 1;
    side->cancelled = start->cancelled;
    side->builder = start->builder;
    side->gpu = start->gpu;
    side->slot_outputs = start->slot_outputs;
    side->program = start->program != NULL;
    side->answer = mem_alloc(sizeof *side->answer);
    side->scratch = start->box->scratch[0] ? mem_strdup(start->box->scratch) : NULL;
    int result = 0;
    if (start->boxed)
        side->boxed = *start->boxed;
    else
        result = standby_spawn(start->standby, start->box, SPAWN_TIMEOUT_MS, &side->boxed, err);
    if (result < 0) { /* nothing of this is the candidate's doing */
        side->boxed = (struct boxed){.channel = -1, .pid_fd = -1};
        err->code = result == ERR_CANCELLED ? result : ERR_IO;
        return err->code;
    }
    if (!(side->boxed.layers >> LAYER_SCRATCH & 1))
        return err_set(err, ERR_MISSING, "the box has no scratch");
    int64_t deadline_ns = clock_now_ns() + start->timeout_ms * 1000000;
    side_hold_begin(side, start->hold_bytes);
    if (start->program)
        result = side_become(side, start->program, deadline_ns, err);
    if (result == 0)
        result = send_open(side, start, err);
    if (result == 0)
        result = finish_open(side, deadline_ns, opened, opened_descriptors, err);
    return result;
}

/* Thaws the side, says something and waits for the one answer that fits. */
static int exchange(struct side *side, const void *message, size_t bytes, const int *descriptors,
                    uint32_t count, uint32_t answer, int64_t timeout_ms, struct err *err)
{
    int ignored[WIRE_DESCRIPTORS];
    int64_t deadline_ns = clock_now_ns() + timeout_ms * 1000000;
    side->answers = true;
    int result = wire_send(side->boxed.channel, message, bytes, descriptors, count, err);
    boxed_thaw(&side->boxed);
    if (result < 0)
        return result == ERR_CRASH ? side_explain_end(side, err) : result;
    union wire_message *received = mem_alloc(sizeof *received);
    result = side_expect(side, answer, deadline_ns, received, ignored, err);
    if (result == 0) {
        side->answers = false;
        close_all(ignored);
    }
    mem_free(received);
    return result;
}

/* Makes new memory where the old does not fit. */
static int make_room(struct side *side, struct shared *shared, const char *name, uint64_t bytes,
                     uint64_t largest_bytes, struct err *err)
{
    if (shared->data && bytes <= shared->bytes)
        return 0;
    side->mapped = false;
    return shared_make(shared, name, largest_bytes > bytes ? largest_bytes : bytes, !side->gpu,
                       err);
}

/* The same for the memory of a GPU. */
static int make_room_on_gpu(struct side *side, uint64_t bytes, uint64_t largest_bytes,
                            struct err *err)
{
    if (!side->gpu || (side->arrays.gpu && bytes <= side->arrays.bytes))
        return 0;
    side->mapped = false;
    gpu_memory_free(&side->arrays);
    return gpu_memory_make(&side->arrays, side->gpu, largest_bytes > bytes ? largest_bytes : bytes,
                           err);
}

int side_push(struct side *side, struct err *err)
{
    return side->gpu ? gpu_memory_write(&side->arrays, 0, side->slot.data,
                                        side->slots * side->layout.bytes, err)
                     : 0;
}

/* A torch side on a GPU has all of its arguments there. */
static bool has_mirror(const struct side *side)
{
    return !side->gpu || side->slot_outputs;
}

/* MAP, in the words that the side knows. */
static int tell_map(struct side *side, const struct wire_map *map, const int *descriptors,
                    uint32_t count, int64_t timeout_ms, struct err *err)
{
    struct warpgym_side_map public;
    if (!side->program)
        return exchange(side, map, sizeof *map, descriptors, count, WIRE_MAPPED, timeout_ms, err);
    side_describe_map(side, &public);
    return exchange(side, &public, sizeof public, descriptors, count, WIRE_MAPPED, timeout_ms, err);
}

int side_map(struct side *side, const struct layout *layout, const struct layout *largest,
             uint32_t slots, bool with_oracle, int64_t timeout_ms, struct err *err)
{
    struct wire_map map = {.type = WIRE_MAP, .layout = *layout, .slots = slots};
    uint64_t bytes = slots * layout->bytes;
    side->layout = *layout;
    side->slots = slots;
    int result = has_mirror(side) ? make_room(side, &side->slot, "slot", bytes, largest->bytes, err)
                                  : 0;
    if (result == 0 && with_oracle) {
        struct layout largest_oracle;
        oracle_layout(layout, &side->oracle_layout);
        oracle_layout(largest, &largest_oracle);
        result = make_room(side, &side->oracle, "oracle", side->oracle_layout.bytes,
                           largest_oracle.bytes, err);
    }
    if (result == 0)
        result = make_room_on_gpu(side, bytes, largest->bytes, err);
    int descriptors[3];
    uint32_t count = 0;
    if (side->slot.data) {
        descriptors[count++] = side->slot.fd;
        map.slot_bytes = side->slot.bytes;
    }
    if (with_oracle) {
        descriptors[count++] = side->oracle.fd;
        map.oracle_bytes = side->oracle.bytes;
    }
    if (side->gpu) {
        descriptors[count++] = side->arrays.fd;
        map.gpu_bytes = side->arrays.bytes;
    }
    if (side->mapped)
        count = 0;
    if (result == 0)
        result = tell_map(side, &map, descriptors, count, timeout_ms, err);
    side->mapped |= result == 0;
    return result;
}

int side_fill(struct side *side, uint64_t seed, enum wire_bias bias, int64_t timeout_ms,
              struct err *err)
{
    struct wire_fill fill = {.type = WIRE_FILL, .bias = bias, .seed = seed};
    return exchange(side, &fill, sizeof fill, NULL, 0, WIRE_FILLED, timeout_ms, err);
}

int side_wake(struct side *side, uint64_t noise, int64_t timeout_ms, struct err *err)
{
    struct wire_wake wake = {.type = WIRE_WAKE, .noise = noise};
    int result = exchange(side, &wake, sizeof wake, NULL, 0, WIRE_AWAKE, timeout_ms, err);
    return result < 0 ? result : boxed_freeze(&side->boxed, err);
}

bool side_rest(struct side *side)
{
    struct err ignored;
    side->seat = NULL;
    side->clock_ns = side->inputs_ns = 0;
    side->trace = -1;
    side->stays_on_gpu = false;
    return !side->answers && boxed_freeze(&side->boxed, &ignored) == 0;
}

void side_close(struct side *side)
{
    if (side->boxed.pid > 0)
        boxed_close(&side->boxed);
    if (side->scratch)
        file_remove_tree(side->scratch);
    mem_free(side->scratch);
    mem_free(side->answer);
    shared_free(&side->slot);
    shared_free(&side->oracle);
    gpu_memory_free(&side->arrays);
    for (uint32_t i = 0; i < side->segment_count; i++)
        gpu_memory_free(&side->segments[i].memory);
    mem_free(side->segments);
    if (side->pinned)
        side->gpu->cuda.host_free(side->pinned);
    for (int i = 0; i < WIRE_OUTPUTS; i++)
        mem_free(side->buffers[i]);
    memset(side, 0, sizeof *side);
}
