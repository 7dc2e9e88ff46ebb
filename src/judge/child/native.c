#include "judge/child/native.h"

#include "base/clock.h"
#include "device/gpu_memory.h"
#include "judge/child/exceptions.h"
#include "judge/child/invoke.h"
#include "judge/child/launcher.h"
#include "judge/numeric/oracle.h"
#include "judge/process/wire.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define EVENTS 2 /* behind the first calls, and behind all */

struct native {
    int channel;
    const struct sandbox *sandbox;
    uint32_t layers;
    const char *driver; /* library of the GPU's driver */
    struct tracing tracing;
    bool warm;  /* locked in, with the GPU open where there is one; */
    int warmed; /* negative: not, and `unready` says why */
    struct err unready;
    struct gpu_context gpu; /* open: this child computes on it */
    cuda_at bell;           /* something to wake it with */
    cuda_event events[EVENTS];
    struct gpu_memory arrays; /* there */
    void *solution;           /* NULL: it is device code, which the launcher starts */
    void *oracle;
    struct launcher launcher;
    struct layout layout;
    struct layout wide;
    char *slot;
    char *wide_slot;
    size_t slot_bytes;
    size_t wide_bytes;
    struct invoke plain_calls[WIRE_SLOTS];
    uint32_t slots;
    struct invoke wide_call;
};

static void send_message(struct native *native, const void *message, size_t bytes)
{
    struct err ignored;
    if (wire_send(native->channel, message, bytes, NULL, 0, &ignored) < 0)
        _exit(1);
}

static void say_type(struct native *native, uint32_t type)
{
    uint32_t message[2] = {type, 0};
    send_message(native, message, sizeof message);
}

static void say_failed(struct native *native, enum wire_failure failure, const char *text)
{
    struct wire_failed message = {.type = WIRE_FAILED, .failure = failure};
    snprintf(message.text, sizeof message.text, "%s", text);
    send_message(native, &message, sizeof message);
}

/* What an exception ends in that nothing catches, on any thread. */
static void on_exception(void *context, const char *text)
{
    say_failed(context, FAILED_RUN, text);
    _exit(1);
}

/* Whether the object defines `solution`, and as C++ names it. */
static bool is_mangled(int artifact, size_t bytes)
{
    static const char name[] = "_Z8solution";
    void *text = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, artifact, 0);
    bool found = text != MAP_FAILED && memmem(text, bytes, name, sizeof name - 1);
    if (text != MAP_FAILED)
        munmap(text, bytes);
    return found;
}

/* dlopen takes a path: the artifact goes into scratch under a name of its own for a moment. */
static void *load_object(struct native *native, int artifact, const char *name, char *why,
                         size_t why_bytes)
{
    struct stat facts;
    char path[64];
    snprintf(path, sizeof path, "./%s.so", name);
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0700);
    if (fd < 0 || fstat(artifact, &facts) < 0) {
        snprintf(why, why_bytes, "cannot store the shared object: %s", strerror(errno));
        return NULL;
    }
    off_t at = 0;
    while (at < facts.st_size)
        if (sendfile(fd, artifact, &at, (size_t)(facts.st_size - at)) <= 0)
            break;
    close(fd);
    exceptions_expect(on_exception, native);
    void *library = at == facts.st_size ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    exceptions_catch(library);
    if (!library)
        snprintf(why, why_bytes, "cannot load the shared object: %s",
                 at == facts.st_size ? dlerror() : "the scratch directory is full");
    unlink(path);
    void *function = library ? dlsym(library, "solution") : NULL;
    if (library && !function && is_mangled(artifact, (size_t)facts.st_size))
        snprintf(why, why_bytes,
                 "`solution` is there under its C++ name only; define it as extern \"C\"");
    else if (library && !function)
        snprintf(why, why_bytes,
                 "there is no function `solution`; define it with the problem's signature, not "
                 "static (in C++ and CUDA as extern \"C\"; or say in a launch line how a CUDA "
                 "kernel is started)");
    return function;
}

/* pid 1 of a namespace ignores signals that it has no handler for, abort's too. */
static void on_abort(int signal)
{
    _exit(134);
}

/* After the sandbox is locked, so that what the driver starts in this process is inside it. */
static int open_gpu(struct native *native, const struct wire_gpu *wanted, struct err *err)
{
    const struct cuda *cuda = &native->gpu.cuda;
    char queues[16];
    if (!wanted->uuid[0])
        return 0;
    snprintf(queues, sizeof queues, "%u", wanted->queues);
    setenv("CUDA_VISIBLE_DEVICES", wanted->uuid, 1);
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", queues, 1);
    setenv("CUDA_DEVICE_MAX_COPY_CONNECTIONS", "1", 1);
    int result = gpu_context_open(&native->gpu, native->driver, 0, err);
    if (result == 0 && strcmp(native->gpu.facts.uuid, wanted->uuid) != 0)
        result = err_set(err, ERR_UNSUPPORTED, "the driver shows GPU %s here instead of %s",
                         native->gpu.facts.uuid, wanted->uuid);
    if (result == 0)
        result = cuda_check(cuda, cuda->alloc(&native->bell, 1), "cannot make memory on the GPU",
                            err);
    if (result == 0)
        result = cuda_check(cuda, cuda->fill(native->bell, 0, 1), "cannot use the GPU", err);
    if (result == 0) /* a GPU that can do this much works */
        result = cuda_check(cuda, cuda->synchronize(), "cannot use the GPU", err);
    for (int i = 0; result == 0 && i < EVENTS; i++)
        result = cuda_check(&native->gpu.cuda, native->gpu.cuda.event_create(&native->events[i], 0),
                            "cannot make an event", err);
    return result;
}

/* What the judge sent: a shared object or a cubin, and an oracle. */
static enum wire_failure load_parts(struct native *native, const struct wire_open *open,
                                    const int descriptors[WIRE_DESCRIPTORS], char *why,
                                    size_t why_bytes)
{
    struct err err = {0};
    bool cubin = open->launch > 0 && open->launch < WIRE_DESCRIPTORS && native->gpu.open;
    bool oracle = descriptors[1] >= 0 && open->launch != 1;
    if (cubin && launcher_open(&native->launcher, &native->gpu, descriptors[0],
                               descriptors[open->launch], &err) < 0) {
        snprintf(why, why_bytes, "%s", err.text);
        return err.code == ERR_LIMIT         ? FAILED_MEMORY
               : err.code == ERR_UNSUPPORTED ? FAILED_UNSUPPORTED
                                             : FAILED_LOAD;
    }
    if (!cubin)
        native->solution = load_object(native, descriptors[0], "solution", why, why_bytes);
    if (oracle && (cubin || native->solution))
        native->oracle = load_object(native, descriptors[1], "oracle", why, why_bytes);
    bool loaded = (cubin || native->solution) && (!oracle || native->oracle);
    return loaded ? FAILED_NONE : FAILED_LOAD;
}

/* What takes long and is the same for all candidates; once. */
static void warm_gpu(struct native *native, const struct wire_gpu *wanted)
{
    struct err *err = &native->unready;
    if (native->warm)
        return;
    native->warm = true;
    signal(SIGABRT, on_abort);
    native->warmed = sandbox_lock(native->sandbox, &native->layers, err);
    if (native->warmed < 0)
        return;
    struct wire_locked locked = {.type = WIRE_LOCKED, .layers = native->layers};
    send_message(native, &locked, sizeof locked);
    native->warmed = open_gpu(native, wanted, err);
}

/* Ahead, and the judge waits for the end of the pipe: a byte says that it did not work. */
static void get_ready(struct native *native, const struct wire_gpu *wanted, int pipe)
{
    warm_gpu(native, wanted);
    if (native->warmed < 0 && pipe >= 0 && write(pipe, "", 1) < 0)
        _exit(1);
}

static int open_candidate(struct native *native, const struct wire_open *open,
                          const int descriptors[WIRE_DESCRIPTORS])
{
    char why[1024] = "";
    char threads[16];
    snprintf(threads, sizeof threads, "%u", open->threads);
    if (open->threads)
        setenv("OMP_NUM_THREADS", threads, 1);
    warm_gpu(native, &open->gpu);
    if (native->warmed < 0) {
        say_failed(native, native->warmed == ERR_LIMIT ? FAILED_MEMORY : FAILED_UNSUPPORTED,
                   native->unready.text);
        return -1;
    }
    struct wire_opened opened = {.type = WIRE_OPENED};
    if (native->gpu.open)
        tracing_snapshot(&native->tracing);
    enum wire_failure failure = load_parts(native, open, descriptors, why, sizeof why);
    if (failure != FAILED_NONE) {
        say_failed(native, failure, why);
        return -1;
    }
    send_message(native, &opened, sizeof opened);
    return 0;
}

/* `whole`: with all of its pages, because it is computed on. */
static char *map_memory(int fd, size_t bytes, bool whole)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | (whole ? MAP_POPULATE : 0), fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static bool map_new(struct native *native, const struct wire_map *map,
                    const int descriptors[WIRE_DESCRIPTORS])
{
    if (native->slot)
        munmap(native->slot, native->slot_bytes);
    if (native->wide_slot)
        munmap(native->wide_slot, native->wide_bytes);
    gpu_memory_free(&native->arrays);
    native->wide_slot = NULL;
    native->slot_bytes = map->slot_bytes;
    native->wide_bytes = map->oracle_bytes;
    native->slot = map_memory(*descriptors++, native->slot_bytes, !native->gpu.open);
    if (map->oracle_bytes)
        native->wide_slot = map_memory(*descriptors++, native->wide_bytes, true);
    if (!native->slot || (map->oracle_bytes && !native->wide_slot))
        return false;
    struct err ignored;
    return !map->gpu_bytes ||
           (native->gpu.open && gpu_memory_import(&native->arrays, &native->gpu, *descriptors,
                                                  map->gpu_bytes, &ignored) == 0);
}

/* The calls of each slot; of device code, what there is to start. */
static int prepare_calls(struct native *native, struct err *err)
{
    cuda_at address = native->gpu.open ? native->arrays.address : 0;
    char *arrays = native->gpu.open ? (char *)(uintptr_t)address : native->slot;
    if (!native->solution)
        return launcher_map(&native->launcher, &native->layout, native->slots, native->slot,
                            address, err);
    for (uint32_t i = 0; i < native->slots; i++) {
        uint64_t offset = i * native->layout.bytes;
        if (invoke_init(&native->plain_calls[i], native->solution, &native->layout,
                        native->slot + offset, arrays + offset) < 0)
            return err_set(err, ERR_LIMIT, "no function can be called like this");
    }
    return 0;
}

static int map_slot(struct native *native, const struct wire_map *map,
                    const int descriptors[WIRE_DESCRIPTORS])
{
    bool mapped = descriptors[0] < 0 || map_new(native, map, descriptors);
    native->layout = map->layout;
    native->slots = map->slots <= WIRE_SLOTS ? map->slots : 0;
    if (mapped && native->oracle && native->wide_slot) {
        oracle_layout(&native->layout, &native->wide);
        mapped = invoke_init(&native->wide_call, native->oracle, &native->wide, native->wide_slot,
                             native->wide_slot) == 0;
    }
    struct err err = {.code = ERR_LIMIT, .text = "the arguments do not fit into the memory limit"};
    if (!mapped || prepare_calls(native, &err) < 0) {
        say_failed(native, err.code == ERR_LIMIT ? FAILED_MEMORY : FAILED_RUN, err.text);
        return -1;
    }
    say_type(native, WIRE_MAPPED);
    return 0;
}

/* Calls from slot `first` on, and an event behind them. */
static int start_calls(struct native *native, uint32_t first, uint32_t end, cuda_event behind,
                       struct err *err)
{
    int started = 0;
    for (uint32_t i = first; started == 0 && i < end; i++)
        if (native->solution)
            invoke(&native->plain_calls[i]);
        else
            started = launcher_start(&native->launcher, i, err);
    return started < 0 ? started
                       : cuda_check(&native->gpu.cuda, native->gpu.cuda.event_record(behind, NULL),
                                    "cannot record an event", err);
}

/* Device time of the first slots' calls alone, at the rate of those after the first quarter of
 * them, because the first starts from nothing. What comes before makes the GPU this process's,
 * which takes it longer than many a kernel; both are part of the dispatch overhead. */
static int run_on_gpu(struct native *native, uint32_t slots, uint64_t *own_ns, struct err *err)
{
    const struct cuda *cuda = &native->gpu.cuda;
    uint32_t skipped = slots > 1 ? (slots + 3) / 4 : 0;
    float ms = 0;
    cuda_result result = cuda->fill(native->bell, 0, 1);
    if (result == 0)
        result = cuda->synchronize();
    if (result != 0)
        return cuda_check(cuda, result, "its work on the GPU failed", err);
    int started = start_calls(native, 0, skipped, native->events[0], err);
    if (started == 0)
        started = start_calls(native, skipped, slots, native->events[1], err);
    if (started < 0)
        return started;
    result = cuda->synchronize();
    if (result == 0)
        result = cuda->event_elapsed(&ms, native->events[0], native->events[1]);
    double calls = skipped ? (double)slots / (slots - skipped) : 1;
    *own_ns = (uint64_t)(ms * 1e6 * calls);
    return cuda_check(cuda, result, "its work on the GPU failed", err);
}

static void run_on_cpu(struct native *native, uint64_t *own_ns)
{
    int64_t start_ns = clock_now_ns();
    for (uint32_t i = 0; i < native->slots; i++)
        invoke(&native->plain_calls[i]);
    *own_ns = (uint64_t)(clock_now_ns() - start_ns);
}

static void run_oracle(struct native *native)
{
    oracle_widen(&native->layout, native->slot, &native->wide, native->wide_slot);
    invoke(&native->wide_call);
}

static void wake_gpu(struct native *native)
{
    struct err err;
    const struct cuda *cuda = &native->gpu.cuda;
    cuda_result result = native->gpu.open ? cuda->fill(native->bell, 0, 1) : 0;
    if (result == 0 && native->gpu.open)
        result = cuda->synchronize();
    if (result == 0)
        say_type(native, WIRE_AWAKE);
    else if (cuda_check(cuda, result, "its work on the GPU failed", &err) < 0)
        say_failed(native, FAILED_RUN, err.text);
}

static int run_traced(struct native *native, uint32_t slots, int fd, uint64_t *own_ns,
                      struct err *err)
{
    int result = cuda_check(&native->gpu.cuda, native->gpu.cuda.synchronize(), "cannot use the GPU",
                            err);
    if (result == 0)
        result = tracing_begin(&native->tracing, err);
    if (result == 0)
        result = run_on_gpu(native, slots, own_ns, err);
    return result == 0 ? tracing_end(&native->tracing, fd, err) : result;
}

static void answer_call(struct native *native, const struct wire_call *wanted, int fd)
{
    static struct wire_done done = {.type = WIRE_DONE};
    struct err err;
    int result = 0;
    bool some = wanted->calls > 0 && wanted->calls < native->slots;
    uint32_t slots = some ? wanted->calls : native->slots;
    if (wanted->mode == WIRE_DOUBLE && native->wide_slot)
        run_oracle(native);
    else if (wanted->mode == WIRE_RUN && native->gpu.open)
        result = run_on_gpu(native, slots, &done.own_ns, &err);
    else if (wanted->mode == WIRE_TRACE && native->gpu.open)
        result = run_traced(native, slots, fd, &done.own_ns, &err);
    else if (wanted->mode == WIRE_RUN)
        run_on_cpu(native, &done.own_ns);
    if (result < 0)
        say_failed(native, result == ERR_LIMIT ? FAILED_MEMORY : FAILED_RUN, err.text);
    else
        send_message(native, &done, offsetof(struct wire_done, outputs));
}

int native_serve(int channel, const struct sandbox *sandbox, uint32_t layers, const char *driver,
                 const struct tracing *tracing)
{
    static union wire_message message; /* large, and there is one judge */
    static struct native native;       /* large, too */
    native = (struct native){.channel = channel,
                             .sandbox = sandbox,
                             .layers = layers,
                             .driver = driver,
                             .tracing = *tracing};
    int descriptors[WIRE_DESCRIPTORS];
    struct err err = {0};
    size_t bytes;
    int result = 0;
    while (result == 0 && wire_receive(channel, &message, &bytes, descriptors, &err) == 0) {
        if (message.type == WIRE_CALL)
            answer_call(&native, &message.call, descriptors[0]);
        else if (message.type == WIRE_MAP)
            result = map_slot(&native, &message.map, descriptors);
        else if (message.type == WIRE_OPEN)
            result = open_candidate(&native, &message.open, descriptors);
        else if (message.type == WIRE_WARM)
            get_ready(&native, &message.warm.gpu, descriptors[0]);
        else if (message.type == WIRE_WAKE)
            wake_gpu(&native);
        else
            result = -1;
        wire_close(descriptors);
    }
    return result == 0 ? 0 : 1;
}
