#include "judge/process/child.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/printable.h"
#include "judge/numeric/oracle.h"
#include "judge/process/external_program.h"
#include "sandbox/processor_time.h"
#include "sandbox/program.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SPAWN_TIMEOUT_MS 20000
#define LOOK_MS 3                 /* whether others are to have the device */
#define BUSY_NS INT64_C(20000000) /* until a GPU is looked at again that computes */

int child_wait_ms(const struct child *child, int64_t deadline_ns)
{
    int wait_ms = memory_watch_wait_ms(&child->limit, clock_left_ms(deadline_ns));
    int before_ms = clock_left_ms(child->yields_from_ns);
    int look_ms = before_ms > LOOK_MS ? before_ms : LOOK_MS;
    return child->lease && wait_ms > look_ms ? look_ms : wait_ms;
}

void child_expect_answer(struct child *child, const char *step, const struct time_limit *limit)
{
    child->delay.step = step;
    child->delay.limit = *limit;
    child->delay.used_ns = processor_time_ns(child->process.pid);
    child->delay.delayed_ns = processor_time_first(child->process.pid).delayed_ns;
}

bool child_late(struct child *child, int64_t *deadline_ns)
{
    struct child_delay *delay = &child->delay;
    int64_t now_ns = clock_now_ns();
    if (now_ns < *deadline_ns)
        return false;
    int64_t used_ns = processor_time_ns(child->process.pid);
    int64_t delayed_ns = processor_time_first(child->process.pid).delayed_ns;
    int64_t more_ns = delayed_ns - delay->delayed_ns;
    if (more_ns > delay->left_ns)
        more_ns = delay->left_ns;
    if (used_ns < 0 || used_ns - delay->used_ns >= more_ns)
        return true;
    delay->used_ns = used_ns;
    delay->delayed_ns = delayed_ns;
    delay->left_ns -= more_ns;
    *deadline_ns = now_ns + more_ns;
    return false;
}

int child_timed_out(const struct child *child, struct err *err)
{
    return time_limit_passed(&child->delay.limit, child->delay.step, err);
}

/* What computes stands still while it is stopped, and that time is not its own. What waits for time
 * to pass does not. On a busy machine what computes may have had little of a processor. */
static bool is_computing(const struct child *child, int64_t now_ns)
{
    return 10 * sandboxed_ran_ns(&child->process) > now_ns - child->process.runs_since_ns;
}

int child_processors(const struct child *child)
{
    return child->affinity ? CPU_COUNT(&child->affinity->usable)
                           : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

/* Its threads have had half of all processors, or more. */
static bool takes_most(const struct child *child, int64_t now_ns)
{
    return 2 * sandboxed_ran_ns(&child->process) >
           child_processors(child) * (now_ns - child->process.runs_since_ns);
}

/* A candidate that takes most of the machine, and whose session has had the device for long, gets
 * what processor time others leave, until its answer is here: what they do without the device
 * (start processes, read results) needs processors, too, and a candidate may run hundreds of
 * threads. One that gets little of a busy machine would only be slower than it is. */
static void stand_back(struct child *child, bool takes_most)
{
    if (takes_most && !child->trusted && !child->process.stands_back &&
        device_turn_long(&child->lease->turn))
        sandboxed_stand_back(&child->process);
}

static bool may_make_way(const struct child *child, int64_t now_ns)
{
    if (!child->lease || now_ns < child->yields_from_ns)
        return false;
    return !child->gpu || (child->work && child->lease->held != LEASE_TIMED);
}

int child_make_way(struct child *child, int64_t *deadline_ns, struct err *err)
{
    int64_t start_ns = clock_now_ns();
    if (!may_make_way(child, start_ns))
        return 0;
    bool most = takes_most(child, start_ns);
    stand_back(child, most);
    if (!device_lease_over(child->lease))
        return 0;
    bool computing = is_computing(child, start_ns);
    int result = sandboxed_freeze(&child->process, err);
    int64_t stopped_ns = clock_now_ns(); /* until then it may have computed */
    if (result == ERR_CRASH)
        return sandboxed_explain_end(&child->process, err);
    if (result == 0 && child->gpu && !gpu_work_idle(child->work)) {
        child->yields_from_ns = stopped_ns + BUSY_NS;
        sandboxed_thaw(&child->process);
        return 0;
    }
    if (result == 0)
        result = device_lease_pass(child->lease, err);
    int64_t ran_ns = sandboxed_ran_ns(&child->process);
    if (result == 0)
        stand_back(child, most);
    int64_t stood_ns = clock_now_ns() - stopped_ns;
    sandboxed_thaw(&child->process);
    child->away_ns += computing ? stood_ns - ran_ns : 0;
    *deadline_ns += stood_ns;
    return result;
}

/* Waits for a message, the process's end, the deadline or a cancellation. */
static int await_message(struct child *child, int64_t *deadline_ns, struct err *err)
{
    struct pollfd waits[2] = {{.fd = child->process.channel, .events = POLLIN},
                              {.fd = child->process.pid_fd, .events = POLLIN}};
    for (;;) {
        int ready = poll(waits, 2, child_wait_ms(child, *deadline_ns));
        if (ready < 0 && errno != EINTR)
            return err_sys(err, errno, "cannot wait for a child");
        if (ready > 0 && (waits[0].revents & POLLIN))
            return 0;
        if (ready > 0)
            return sandboxed_explain_end(&child->process, err);
        if (child->cancelled && *child->cancelled)
            return err_set(err, ERR_CANCELLED, "cancelled");
        if (child_late(child, deadline_ns))
            return child_timed_out(child, err);
        int result = memory_watch_look_again(&child->limit, &child->process, &child->failed, err);
        if (result == 0)
            result = child_make_way(child, deadline_ns, err);
        if (result < 0)
            return result;
    }
}

/* What no GPU is needed to find out, and what the judge says of it. */
static const char *const sentences[FAILED_COUNT] = {
    [FAILED_NO_GPU] = "it needs CUDA, and this machine has no GPU",
    [FAILED_NO_COMPILER] = ("torch.compile makes C++ of this, and a candidate may start no "
                            "compiler: on a GPU it makes "
                            "Triton"),
};

/* Whether such a child can be right about it, at this moment. A candidate's code runs in the
 * process that reports it, and may prefer another ending than its own: that a machine cannot run
 * it, or that it never got as far as running. */
static bool can_report(const struct child *child, uint32_t failure)
{
    bool loading = child->state == CHILD_LOADING;
    switch (failure) {
    case FAILED_LOAD:
        return loading;
    case FAILED_RUN:
    case FAILED_MEMORY:
        return true;
    case FAILED_COMPILE: /* a native candidate was compiled before there was a child */
        return child->kind == CHILD_TORCH || (child->kind == CHILD_PROGRAM && loading);
    case FAILED_UNSUPPORTED:
        return child->trusted || child->requests.refusal ||
               (child->kind == CHILD_PROGRAM && loading);
    case FAILED_NO_GPU:
    case FAILED_NO_COMPILER:
        return child->kind == CHILD_TORCH && !child->gpu;
    case FAILED_PROBLEM:
        return child->trusted;
    default:
        return false;
    }
}

void child_take_failure(struct child *child, const struct wire_failed *failed)
{
    child->failed = *failed;
    struct wire_failed *taken = &child->failed;
    taken->text[sizeof taken->text - 1] = '\0';
    printable_text(taken->text, true);
    if (!can_report(child, taken->failure))
        taken->failure = child->state == CHILD_LOADING ? FAILED_LOAD : FAILED_RUN;
    const char *own = taken->failure == FAILED_UNSUPPORTED ? child->requests.refusal
                                                           : sentences[taken->failure];
    if (own)
        snprintf(taken->text, sizeof taken->text, "%s", own);
    if (child->state == CHILD_BUSY)
        child->state = CHILD_READY; /* that was its answer */
}

int child_expect(struct child *child, uint32_t type, int64_t deadline_ns,
                 union wire_message *message, int descriptors[WIRE_DESCRIPTORS], struct err *err)
{
    size_t bytes;
    int result = await_message(child, &deadline_ns, err);
    while (result == 0 && child_pending_request(child)) {
        result = child_serve_request(child, &deadline_ns, err);
        if (result == 0)
            result = await_message(child, &deadline_ns, err);
    }
    if (result < 0)
        return result;
    result = wire_receive(child->process.channel, message, &bytes, descriptors, err);
    if (result == ERR_CRASH || result == ERR_IO)
        return sandboxed_explain_end(&child->process, err);
    if (result == 0 && message->type == type)
        return 0;
    wire_close(descriptors);
    if (result == 0 && message->type == WIRE_FAILED) {
        child_take_failure(child, &message->failed);
        return err_set(err, ERR_INPUT, "%.600s", child->failed.text);
    }
    return err_set(err, ERR_PROTOCOL, "it sent a message that the protocol does not know");
}

/* Nothing of the candidate's is in the process: what goes wrong is not its doing. */
static int blame_program(const char *name, struct err *err)
{
    char why[ERR_TEXT_MAX];
    if (err->code == ERR_CANCELLED)
        return err->code;
    snprintf(why, sizeof why, "%s", err->text);
    return err_set(err, ERR_IO, "%s does not get as far as HELLO in its sandbox: %s", name, why);
}

/* The sandboxed process becomes the program and says HELLO. */
static int run_program(struct child *child, const struct child_program *program,
                       int64_t deadline_ns, struct err *err)
{
    int descriptors[WIRE_DESCRIPTORS];
    union wire_message *message = mem_alloc(sizeof *message);
    int result = program_start(&child->process, program->argv, program->environment,
                               clock_left_ms(deadline_ns), err);
    if (result == 0)
        result = child_expect(child, WIRE_HELLO, deadline_ns, message, descriptors, err);
    if (result == 0) {
        wire_close(descriptors);
        if (message->word.version != WARPGYM_CHILD_VERSION)
            result = err_set(err, ERR_UNSUPPORTED,
                             "it speaks version %u of the child protocol, and this is version %u",
                             message->word.version, WARPGYM_CHILD_VERSION);
    }
    mem_free(message);
    return result < 0 ? blame_program(program->argv[0], err) : 0;
}

/* The channel keeps messages in their order, and the child sends LOCKED before a candidate's code
 * runs; a later LOCKED breaks the protocol. A program's layers: program_start. */
static int take_layers(struct child *child, int64_t deadline_ns, union wire_message *message,
                       struct err *err)
{
    int descriptors[WIRE_DESCRIPTORS];
    int result = child_expect(child, WIRE_LOCKED, deadline_ns, message, descriptors, err);
    if (result == 0) {
        child->process.layers |= message->locked.layers;
        wire_close(descriptors);
    }
    return result;
}

static int finish_open(struct child *child, int64_t deadline_ns, struct wire_opened *opened,
                       struct err *err)
{
    union wire_message *message = mem_alloc(sizeof *message);
    int descriptors[WIRE_DESCRIPTORS];
    bool program = child->kind == CHILD_PROGRAM;
    int result = program ? 0 : take_layers(child, deadline_ns, message, err);
    if (result == 0)
        result = child_expect(child, program ? WIRE_PROGRAM_OPENED : WIRE_OPENED, deadline_ns,
                              message, descriptors, err);
    if (result == 0) {
        if (opened)
            *opened = message->opened;
        wire_close(descriptors);
    }
    mem_free(message);
    return result;
}

static int send_open(struct child *child, const struct child_start *start, struct err *err)
{
    const void *message = start->message;
    size_t bytes = sizeof *start->message;
    if (start->program) {
        message = start->program->open;
        bytes = sizeof *start->program->open;
    }
    int result = wire_send(child->process.channel, message, bytes, start->descriptors,
                           start->descriptor_count, err);
    return result == ERR_CRASH && start->program ? sandboxed_explain_end(&child->process, err)
                                                 : result;
}

/* If it cannot be stopped it has ended, which the next message to it shows. */
static void rest_until_called(struct child *child)
{
    struct err ignored;
    if (sandboxed_freeze(&child->process, &ignored) < 0)
        log_write(LOG_LEVEL_DEBUG, "judge", "a child has ended: %s", ignored.text);
}

int child_open(struct child *child, const struct child_start *start, struct wire_opened *opened,
               struct err *err)
{
    memset(child, 0, sizeof *child);
    child->state = CHILD_LOADING;
    child->slots = 1;
    child->cancelled = start->cancelled;
    child->requests.builder = start->builder;
    child->lease = start->lease;
    child->gpu = start->gpu;
    child->work = start->work;
    child->kind = start->kind;
    child->trusted = start->trusted || start->message->role == WIRE_REFERENCE ||
                     start->message->launch > 0;
    child->answer = mem_alloc(sizeof *child->answer);
    child->scratch = start->sandbox->scratch[0] ? mem_strdup(start->sandbox->scratch) : NULL;
    int result = 0;
    if (start->process)
        child->process = *start->process;
    else
        result = standby_spawn(start->standby, start->sandbox, SPAWN_TIMEOUT_MS, &child->process,
                               err);
    if (result < 0) { /* nothing of this is the candidate's doing */
        child->process = (struct sandboxed){.channel = -1, .pid_fd = -1};
        child->state = CHILD_FAILED;
        err->code = result == ERR_CANCELLED ? result : ERR_IO;
        return err->code;
    }
    if (!(child->process.layers >> LAYER_SCRATCH & 1))
        return err_set(err, ERR_MISSING, "the sandbox has no scratch");
    int64_t deadline_ns = time_limit_deadline_ns(&start->limit, clock_now_ns());
    child->delay.left_ns = CHILD_DELAY_NS;
    child_expect_answer(child, "loading", &start->limit);
    memory_watch_begin(&child->limit, &child->process, start->memory_bytes);
    if (child->process.output > 0) /* what is printed until now is not the candidate's */
        (void)lseek(child->process.output, 0, SEEK_SET);
    if (start->program)
        result = run_program(child, start->program, deadline_ns, err);
    if (result == 0)
        result = send_open(child, start, err);
    if (result == 0)
        result = finish_open(child, deadline_ns, opened, err);
    if (result == 0)
        rest_until_called(child);
    child->state = result == 0 ? CHILD_READY : CHILD_FAILED;
    return result;
}

/* Thaws the child, says something and waits for the one answer that fits. */
static int exchange_messages(struct child *child, const void *message, size_t bytes,
                             const int *descriptors, uint32_t count, uint32_t answer,
                             const char *step, const struct time_limit *limit, struct err *err)
{
    int ignored[WIRE_DESCRIPTORS];
    int64_t deadline_ns = time_limit_deadline_ns(limit, clock_now_ns());
    child->state = CHILD_BUSY;
    child->prepared = false;
    child_expect_answer(child, step, limit);
    int result = wire_send(child->process.channel, message, bytes, descriptors, count, err);
    sandboxed_thaw(&child->process);
    if (result < 0)
        return result == ERR_CRASH ? sandboxed_explain_end(&child->process, err) : result;
    union wire_message *received = mem_alloc(sizeof *received);
    result = child_expect(child, answer, deadline_ns, received, ignored, err);
    if (result == 0) {
        child->state = CHILD_READY;
        wire_close(ignored);
        rest_until_called(child);
    }
    mem_free(received);
    return result;
}

/* Makes new memory where the old does not fit. */
static int make_shared(struct child *child, struct shared *shared, const char *name, uint64_t bytes,
                       uint64_t largest_bytes, struct err *err)
{
    if (shared->data && bytes <= shared->bytes)
        return 0;
    child->mapped = false;
    return shared_make(shared, name, largest_bytes > bytes ? largest_bytes : bytes, !child->gpu,
                       err);
}

/* The same for the memory of a GPU. */
static int make_arrays(struct child *child, uint64_t bytes, uint64_t largest_bytes, struct err *err)
{
    if (!child->gpu || (child->arrays.gpu && bytes <= child->arrays.bytes))
        return 0;
    child->mapped = false;
    gpu_memory_free(&child->arrays);
    return gpu_memory_make(&child->arrays, child->gpu,
                           largest_bytes > bytes ? largest_bytes : bytes, err);
}

int child_push(struct child *child, struct err *err)
{
    return child->gpu ? gpu_memory_write(&child->arrays, 0, child->slot.data,
                                         child->slots * child->layout.bytes, err)
                      : 0;
}

int child_pull(struct child *child, struct err *err)
{
    return child->gpu ? gpu_memory_read(&child->arrays, 0, child->slot.data,
                                        child->slots * child->layout.bytes, err)
                      : 0;
}

/* A torch child on a GPU has all of its arguments there. */
static bool has_mirror(const struct child *child)
{
    return !child->gpu || child_has_slot_outputs(child);
}

/* MAP, in the words that the child knows. */
static int send_map(struct child *child, const struct wire_map *map, const int *descriptors,
                    uint32_t count, const struct time_limit *limit, struct err *err)
{
    static const char step[] = "taking its memory";
    struct warpgym_child_map public;
    if (child->kind != CHILD_PROGRAM)
        return exchange_messages(child, map, sizeof *map, descriptors, count, WIRE_MAPPED, step,
                                 limit, err);
    external_program_map(&child->layout, child->slot.bytes, &public);
    return exchange_messages(child, &public, sizeof public, descriptors, count, WIRE_MAPPED, step,
                             limit, err);
}

int child_map(struct child *child, const struct layout *layout, const struct layout *largest,
              uint32_t slots, bool with_oracle, struct time_limit limit, struct err *err)
{
    struct wire_map map = {.type = WIRE_MAP, .layout = *layout, .slots = slots};
    uint64_t bytes = slots * layout->bytes;
    child->layout = *layout;
    child->slots = slots;
    int result = has_mirror(child)
                     ? make_shared(child, &child->slot, "slot", bytes, largest->bytes, err)
                     : 0;
    if (result == 0 && with_oracle) {
        struct layout largest_oracle;
        oracle_layout(layout, &child->oracle_layout);
        oracle_layout(largest, &largest_oracle);
        result = make_shared(child, &child->oracle, "oracle", child->oracle_layout.bytes,
                             largest_oracle.bytes, err);
    }
    if (result == 0)
        result = make_arrays(child, bytes, largest->bytes, err);
    int descriptors[3];
    uint32_t count = 0;
    if (child->slot.data) {
        descriptors[count++] = child->slot.fd;
        map.slot_bytes = child->slot.bytes;
    }
    if (with_oracle) {
        descriptors[count++] = child->oracle.fd;
        map.oracle_bytes = child->oracle.bytes;
    }
    if (child->gpu) {
        descriptors[count++] = child->arrays.fd;
        map.gpu_bytes = child->arrays.bytes;
    }
    if (child->mapped)
        count = 0;
    if (result == 0)
        result = send_map(child, &map, descriptors, count, &limit, err);
    child->mapped |= result == 0;
    return result;
}

int child_fill(struct child *child, uint64_t seed, enum wire_shift shift, struct time_limit limit,
               struct err *err)
{
    struct wire_fill fill = {.type = WIRE_FILL, .shift = shift, .seed = seed};
    if (child->affinity)
        cpu_affinity_release_main(child->affinity, child->process.pid);
    int result = exchange_messages(child, &fill, sizeof fill, NULL, 0, WIRE_FILLED, "making inputs",
                                   &limit, err);
    if (child->affinity)
        cpu_affinity_recall_main(child->affinity, child->process.pid);
    return result;
}

int child_wake(struct child *child, uint32_t warm_ups, bool poison, struct time_limit limit,
               struct err *err)
{
    struct wire_wake wake = {.type = WIRE_WAKE, .warm_ups = warm_ups, .poison = poison};
    int result = exchange_messages(child, &wake, sizeof wake, NULL, 0, WIRE_AWAKE,
                                   "getting ready for a call", &limit, err);
    return result < 0 ? result : sandboxed_freeze(&child->process, err);
}

bool child_rest(struct child *child)
{
    struct err ignored;
    child->affinity = NULL;
    child_forget_outputs(child);
    return child->state == CHILD_READY && sandboxed_freeze(&child->process, &ignored) == 0;
}

void child_close(struct child *child)
{
    if (child->process.pid > 0)
        sandboxed_close(&child->process);
    if (child->scratch)
        file_remove_tree(child->scratch);
    mem_free(child->scratch);
    mem_free(child->answer);
    shared_free(&child->slot);
    shared_free(&child->oracle);
    gpu_memory_free(&child->arrays);
    for (uint32_t i = 0; i < child->requests.segment_count; i++)
        gpu_memory_free(&child->requests.segments[i].memory);
    mem_free(child->requests.segments);
    mem_free(child->requests.refusal);
    if (child->outputs.pinned)
        child->gpu->cuda.host_free(child->outputs.pinned);
    child_forget_outputs(child);
    memset(child, 0, sizeof *child);
}
