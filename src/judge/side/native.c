#include "judge/side/native.h"

#include "base/clock.h"
#include "judge/oracle.h"
#include "judge/side/invoke.h"
#include "judge/wire.h"

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

struct native {
    int channel;
    const struct box *box;
    uint32_t layers;
    void *solution;
    void *oracle;
    struct layout layout;
    struct layout wide;
    char *slot;
    char *wide_slot;
    size_t slot_bytes;
    size_t wide_bytes;
    struct invoke plain_call;
    struct invoke wide_call;
};

static void say(struct native *native, const void *message, size_t bytes)
{
    struct err ignored;
    if (wire_send(native->channel, message, bytes, NULL, 0, &ignored) < 0)
        _exit(1);
}

static void say_type(struct native *native, uint32_t type)
{
    uint32_t message[2] = {type, 0};
    say(native, message, sizeof message);
}

static void say_failed(struct native *native, enum wire_failure failure, const char *text)
{
    struct wire_failed message = {.type = WIRE_FAILED,
                                  .failure = failure,
                                  .layers = native->layers};
    snprintf(message.text, sizeof message.text, "%s", text);
    say(native, &message, sizeof message);
}

/* dlopen takes a path: the artifact goes into scratch under a name of its own for a moment. */
static void *load(int artifact, const char *name, char *why, size_t why_bytes)
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
    void *library = at == facts.st_size ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library)
        snprintf(why, why_bytes, "cannot load the shared object: %s",
                 at == facts.st_size ? dlerror() : "the scratch directory is full");
    unlink(path);
    void *function = library ? dlsym(library, "solution") : NULL;
    if (library && !function)
        snprintf(why, why_bytes,
                 "there is no function `solution`; define it with the problem's signature, not "
                 "static");
    return function;
}

/* pid 1 of a namespace ignores signals that it has no handler for, abort's too. */
static void on_abort(int signal)
{
    (void)signal;
    _exit(134);
}

static int open_candidate(struct native *native, const struct wire_open *open,
                          const int descriptors[WIRE_DESCRIPTORS])
{
    struct err err = {0};
    char why[1024] = "";
    char threads[16];
    (void)open->role;
    snprintf(threads, sizeof threads, "%u", open->threads);
    if (open->threads)
        setenv("OMP_NUM_THREADS", threads, 1);
    signal(SIGABRT, on_abort);
    if (box_lock(native->box, &native->layers, &err) < 0) {
        say_failed(native, FAILED_UNSUPPORTED, err.text);
        return -1;
    }
    struct wire_opened opened = {.type = WIRE_OPENED, .layers = native->layers};
    native->solution = load(descriptors[0], "solution", why, sizeof why);
    if (native->solution && descriptors[1] >= 0)
        native->oracle = load(descriptors[1], "oracle", why, sizeof why);
    if (!native->solution || (descriptors[1] >= 0 && !native->oracle)) {
        say_failed(native, FAILED_LOAD, why);
        return -1;
    }
    say(native, &opened, sizeof opened);
    return 0;
}

static char *map_memory(int fd, size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static bool map_new(struct native *native, const struct wire_map *map,
                    const int descriptors[WIRE_DESCRIPTORS])
{
    if (native->slot)
        munmap(native->slot, native->slot_bytes);
    if (native->wide_slot)
        munmap(native->wide_slot, native->wide_bytes);
    native->wide_slot = NULL;
    native->slot_bytes = map->slot_bytes;
    native->wide_bytes = map->oracle_bytes;
    native->slot = map_memory(descriptors[0], native->slot_bytes);
    if (native->slot && descriptors[1] >= 0)
        native->wide_slot = map_memory(descriptors[1], native->wide_bytes);
    return native->slot && (descriptors[1] < 0 || native->wide_slot);
}

static int map_slot(struct native *native, const struct wire_map *map,
                    const int descriptors[WIRE_DESCRIPTORS])
{
    bool mapped = descriptors[0] < 0 || map_new(native, map, descriptors);
    native->layout = map->layout;
    if (mapped && native->oracle && native->wide_slot) {
        oracle_layout(&native->layout, &native->wide);
        mapped = invoke_init(&native->wide_call, native->oracle, &native->wide,
                             native->wide_slot) == 0;
    }
    if (!mapped ||
        invoke_init(&native->plain_call, native->solution, &native->layout, native->slot) < 0) {
        say_failed(native, FAILED_MEMORY, "the arguments do not fit into the memory limit");
        return -1;
    }
    say_type(native, WIRE_MAPPED);
    return 0;
}

static void call(struct native *native, const struct wire_call *wanted)
{
    static struct wire_done done = {.type = WIRE_DONE};
    int64_t start_ns = clock_now_ns();
    if (wanted->mode == WIRE_RUN) {
        invoke(&native->plain_call);
    } else if (wanted->mode == WIRE_DOUBLE && native->wide_slot) {
        oracle_widen(&native->layout, native->slot, &native->wide, native->wide_slot);
        invoke(&native->wide_call);
    }
    done.own_ns = (uint64_t)(clock_now_ns() - start_ns);
    say(native, &done, sizeof done);
}

int native_serve(int channel, const struct box *box, uint32_t layers)
{
    static union wire_message message; /* large, and there is one judge */
    struct native native = {.channel = channel, .box = box, .layers = layers};
    int descriptors[WIRE_DESCRIPTORS];
    struct err err = {0};
    size_t bytes;
    int result = 0;
    while (result == 0 && wire_receive(channel, &message, &bytes, descriptors, &err) == 0) {
        if (message.type == WIRE_CALL)
            call(&native, &message.call);
        else if (message.type == WIRE_MAP)
            result = map_slot(&native, &message.map, descriptors);
        else if (message.type == WIRE_OPEN)
            result = open_candidate(&native, &message.open, descriptors);
        else
            result = -1;
        for (int i = 0; i < WIRE_DESCRIPTORS; i++)
            if (descriptors[i] >= 0)
                close(descriptors[i]);
    }
    return result == 0 ? 0 : 1;
}
