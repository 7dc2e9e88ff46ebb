#include "judge/process/call.h"

#include "base/clock.h"
#include "judge/process/child.h"

#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

/* Whatever is on the channel now was not asked for. */
static bool child_speaks(const struct child *child)
{
    char byte;
    return recv(child->process.channel, &byte, 1, MSG_DONTWAIT | MSG_PEEK) > 0;
}

/* Waits until there is an answer on the channel, or it ended. */
static int wait_done(struct child *child, int64_t deadline_ns, struct err *err)
{
    struct pollfd wait = {.fd = child->process.channel, .events = POLLIN};
    for (;;) {
        if (poll(&wait, 1, child_wait_ms(child, deadline_ns)) > 0) {
            if (!child_pending_request(child))
                return 0;
            int result = child_serve_request(child, &deadline_ns, err);
            if (result < 0)
                return result;
            continue;
        }
        if (child->cancelled && *child->cancelled)
            return err_set(err, ERR_CANCELLED, "cancelled");
        if (child_late(child, &deadline_ns))
            return child_timed_out(child, err);
        int result = memory_watch_look_again(&child->limit, &child->process, &child->failed, err);
        if (result == 0)
            result = child_make_way(child, &deadline_ns, err);
        if (result < 0)
            return result;
    }
}

static int read_answer(struct child *child, union wire_message *message, struct err *err)
{
    int descriptors[WIRE_DESCRIPTORS];
    size_t bytes;
    int result = wire_receive(child->process.channel, message, &bytes, descriptors, err);
    wire_close(descriptors);
    if (result == ERR_CRASH || result == ERR_IO)
        return sandboxed_explain_end(&child->process, err);
    if (result < 0)
        return result;
    if (message->type == WIRE_DONE) {
        memcpy(&child->outputs.done, &message->done,
               bytes < sizeof child->outputs.done ? bytes : sizeof child->outputs.done);
        if (child_has_slot_outputs(child))
            child->outputs.done.count = 0;
        return wire_check_done(&child->outputs.done, err);
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

int child_prepare_call(struct child *child, const struct time_limit *limit, struct err *err)
{
    int result = sandboxed_freeze(&child->process, err);
    if (result == 0)
        result = child_prepare_samples(child, err);
    if (result < 0)
        return result;
    child_expect_answer(child, "one call", limit);
    int64_t deadline_ns = time_limit_deadline_ns(limit, clock_now_ns());
    while (child_pending_request(child) == WIRE_SEGMENT) { /* a thread's, after the last call */
        result = child_serve_request(child, &deadline_ns, err);
        if (result < 0)
            return result;
    }
    if (child->affinity)
        cpu_affinity_place(child->affinity, child->process.pid);
    child->prepared = true;
    return 0;
}

static int check_silence(struct child *child, struct err *err)
{
    if (!child_speaks(child))
        return 0;
    child->breach = CHILD_UNREQUESTED;
    return err_set(err, ERR_PROTOCOL, "it sent a message that nothing had asked for");
}

struct stopwatch {
    int64_t ahead_ns; /* sandboxed_ran_ns */
    int64_t start_ns, sent_ns, done_ns, stop_ns;
};

static int send_call(struct child *child, const struct child_call *call, struct stopwatch *watch,
                     struct err *err)
{
    struct wire_call message = {
        .type = WIRE_CALL,
        .mode = call->mode,
        .noise = child->kind == CHILD_PROGRAM ? 0 : call->noise, /* it has no use for it */
        .calls = call->calls,
    };
    child->state = CHILD_BUSY;
    if (child->affinity)
        cpu_affinity_hurry(child->affinity, true);
    watch->ahead_ns = sandboxed_ran_ns(&child->process);
    watch->sent_ns = clock_now_ns();
    watch->start_ns = call->clock_ns ? call->clock_ns : watch->sent_ns;
    int result = wire_send(child->process.channel, &message, sizeof message, &call->trace,
                           call->mode == WIRE_TRACE, err);
    return result == ERR_CRASH ? sandboxed_explain_end(&child->process, err) : result;
}

/* The child runs from here until freeze_again. */
static int run_on_clock(struct child *child, const struct child_call *call, struct stopwatch *watch,
                        struct err *err)
{
    child->away_ns = 0;
    child->yields_from_ns = isfinite(call->yield_after_ms)
                                ? watch->start_ns + (int64_t)(call->yield_after_ms * 1e6)
                                : INT64_MAX;
    sandboxed_thaw(&child->process);
    if (child->affinity)
        cpu_affinity_release_main(child->affinity, child->process.pid);
    int result = receive_done(child, time_limit_deadline_ns(&call->limit, watch->start_ns), err);
    if (result == 0) {
        child->state = CHILD_READY;
        watch->done_ns = clock_now_ns();
        child_take_samples(child);
        watch->stop_ns = clock_now_ns();
    }
    return result;
}

static int freeze_again(struct child *child, const struct stopwatch *watch, struct child_time *time,
                        struct err *err)
{
    if (child->affinity)
        cpu_affinity_recall_main(child->affinity, child->process.pid);
    int result = sandboxed_freeze(&child->process, err);
    if (result < 0)
        return result;
    child->yields_from_ns = 0;
    *time = (struct child_time){
        .ms = (double)(watch->done_ns - watch->start_ns + watch->ahead_ns - child->away_ns) * 1e-6,
        .ahead_ms = (double)watch->ahead_ns * 1e-6,
        .inputs_ms = (double)(watch->sent_ns - watch->start_ns) * 1e-6,
        .sample_ms = (double)(watch->stop_ns - watch->done_ns) * 1e-6,
        .stop_ms = (double)(clock_now_ns() - watch->stop_ns) * 1e-6,
        .own_ms = (double)child->outputs.done.own_ns * 1e-6,
        .issue_ms = (double)child->outputs.done.issue_ns * 1e-6,
    };
    return 0;
}

static int check_late_writes(struct child *child, const struct child_call *call, struct err *err)
{
    bool mirrored = (call->mode == WIRE_RUN || call->mode == WIRE_TRACE) &&
                    child_has_slot_outputs(child);
    if (call->stays_on_gpu)
        return 0;
    int result = mirrored ? child_pull(child, err) : 0;
    if (result < 0)
        return result;
    if (child_samples_changed(child, false))
        child->breach = CHILD_LATE;
    return 0;
}

int child_call(struct child *child, const struct child_call *call, struct child_time *time,
               struct err *err)
{
    struct stopwatch watch;
    int result = child->prepared ? 0 : child_prepare_call(child, &call->limit, err);
    child->prepared = false;
    if (result == 0)
        result = check_silence(child, err);
    if (result == 0)
        result = send_call(child, call, &watch, err);
    if (result == 0)
        result = run_on_clock(child, call, &watch, err);
    if (child->affinity)
        cpu_affinity_hurry(child->affinity, false);
    if (result == 0)
        result = freeze_again(child, &watch, time, err);
    if (result == 0)
        result = memory_watch_look(&child->limit, &child->process, &child->failed, err);
    return result == 0 ? check_late_writes(child, call, err) : result;
}
