#include "cli/config_machine.h"

#include "base/array.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/paths.h"
#include "device/cpu.h"
#include "judge/request/judge_settings.h"
#include "server/http/listen.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
#define PORTS 100                 /* that are tried, from the usual one on */
#define CONTEXT_BYTES (600 * MIB) /* a process's share of a GPU before it does anything */
#define SPARE_DESCRIPTORS 512     /* for what is no connection */
#define CGROUP_BYTES 64

/* `value` NULL: the default will do. The reason is a format. */
__attribute__((format(printf, 4, 5))) static void config_choose(struct config_machine *machine,
                                                                const char *path, const char *value,
                                                                const char *reason, ...)
{
    char text[1024];
    va_list args;
    if (machine->count == CONFIG_CHOICES)
        abort(); /* more rows below than there is free for: a defect of this file */
    va_start(args, reason);
    vsnprintf(text, sizeof text, reason, args);
    va_end(args);
    machine->choices[machine->count++] = (struct settings_choice){
        .path = path, .value = value, .reason = arena_strdup(&machine->arena, text)};
}

/* Whole MiB or GiB, rounded down. */
static const char *size_text(struct config_machine *machine, uint64_t bytes)
{
    return bytes >= GIB
               ? arena_printf(&machine->arena, "%lluGiB", (unsigned long long)(bytes / GIB))
               : arena_printf(&machine->arena, "%lluMiB", (unsigned long long)(bytes / MIB));
}

/* --- the machine --- */

/* Of this process: the machine's, or the bound of its cgroup. 0: unknown. */
static uint64_t memory_bytes(void)
{
    uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    static const char *const bounds[] = {"/sys/fs/cgroup/memory.max",
                                         "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    for (size_t i = 0; i < COUNT(bounds); i++) {
        FILE *file = fopen(bounds[i], "re");
        char text[CGROUP_BYTES] = "";
        if (file && fgets(text, sizeof text, file)) {
            uint64_t bound = strtoull(text, NULL, 10); /* "max": 0 */
            bytes = bound > 0 && bound < bytes ? bound : bytes;
        }
        if (file)
            fclose(file);
    }
    return bytes;
}

/* Of the file system of a directory; 0: unknown. */
static uint64_t free_bytes(const char *directory)
{
    struct statvfs facts;
    return directory && statvfs(directory, &facts) == 0 ? facts.f_bavail * facts.f_frsize : 0;
}

/* "10.0.0.5 (eth0), fd00::5 (eth0)": by which others may reach this machine. */
static const char *machine_addresses(struct config_machine *machine)
{
    struct ifaddrs *all = NULL;
    struct buf text;
    buf_init(&text, 1024);
    if (getifaddrs(&all) < 0)
        all = NULL;
    for (const struct ifaddrs *one = all; one; one = one->ifa_next) {
        char address[INET6_ADDRSTRLEN];
        int family = one->ifa_addr ? one->ifa_addr->sa_family : AF_UNSPEC;
        const struct in6_addr *six = &((const struct sockaddr_in6 *)one->ifa_addr)->sin6_addr;
        const void *bytes =
            family == AF_INET ? (const void *)&((const struct sockaddr_in *)one->ifa_addr)->sin_addr
                              : six;
        if ((one->ifa_flags & IFF_LOOPBACK) || (family != AF_INET && family != AF_INET6) ||
            (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(six)) ||
            !inet_ntop(family, bytes, address, sizeof address))
            continue;
        buf_printf(&text, "%s%s (%s)", text.len ? ", " : "", address, one->ifa_name);
    }
    freeifaddrs(all);
    const char *result = arena_strdup(&machine->arena, text.data);
    buf_deinit(&text);
    return result;
}

static int free_port(void)
{
    for (int port = HTTP_PORT; port < HTTP_PORT + PORTS; port++) {
        struct http_listen listen;
        struct err err;
        char place[32];
        snprintf(place, sizeof place, "127.0.0.1:%d", port);
        if (http_listen_open(place, &listen, &err) == 0) {
            http_listen_close(&listen);
            return port;
        }
    }
    return 0;
}

/* --- the choices --- */

static void choose_server(struct config_machine *machine, const struct cpu *cpu)
{
    struct arena *arena = &machine->arena;
    const char *others = machine_addresses(machine);
    int port = free_port();
    const char *reach = *others
                            ? arena_printf(arena,
                                           "Only this machine reaches it so. Others would by %s; "
                                           "then set a token as well.",
                                           others)
                            : "This machine has no address by which others could reach it.";
    if (port)
        config_choose(machine, "server.listen", arena_printf(arena, "127.0.0.1:%d", port),
                      port == HTTP_PORT ? "Port %d is free here. %s"
                                        : "%d is the first free port here. %s",
                      port, reach);
    else
        config_choose(machine, "server.listen", NULL, "No port is free. %s", reach);
    config_choose(machine, "server.token", NULL,
                  "A secret, such as from `openssl rand -hex 32`. Better in the environment "
                  "(WARPGYM_TOKEN) than here.");
    if (cpu->cores >= 32)
        config_choose(machine, "server.threads", cpu->cores >= 64 ? "8" : "4",
                      "%d CPUs: some for many clients.", cpu->cores);
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max < 4096 + SPARE_DESCRIPTORS &&
        limit.rlim_max > 2 * SPARE_DESCRIPTORS)
        config_choose(machine, "server.max_connections",
                      arena_printf(arena, "%llu",
                                   (unsigned long long)limit.rlim_max - SPARE_DESCRIPTORS),
                      "A process may open %llu files here (ulimit -Hn).",
                      (unsigned long long)limit.rlim_max);
}

static const char *gpu_names(struct config_machine *machine, const struct capabilities *found)
{
    struct buf text;
    buf_init(&text, 4096);
    for (int i = 0; i < found->gpu_count; i++) {
        const struct gpu_capabilities *gpu = &found->gpus[i];
        buf_printf(&text, "%s%d: %s, %llu GiB%s", i ? "; " : "", gpu->facts.ordinal,
                   gpu->facts.name, (unsigned long long)(gpu->facts.memory_bytes / GIB),
                   gpu->problem[0] ? ", does not work" : "");
    }
    const char *result = arena_strdup(&machine->arena, text.data);
    buf_deinit(&text);
    return result;
}

/* By UUID, because ordinals change with what is visible. NULL: all of them. */
static const char *good_gpus(struct config_machine *machine, const struct capabilities *found)
{
    struct buf text;
    int good = 0;
    buf_init(&text, 4096);
    for (int i = 0; i < found->gpu_count; i++)
        if (!found->gpus[i].problem[0])
            buf_printf(&text, "%s%s", good++ ? "," : "", found->gpus[i].facts.uuid);
    const char *result = good == 0 || good == found->gpu_count
                             ? NULL
                             : arena_strdup(&machine->arena, text.data);
    buf_deinit(&text);
    return result;
}

static void choose_gpus(struct config_machine *machine, const struct capabilities *found)
{
    struct arena *arena = &machine->arena;
    if (found->gpu_count == 0) {
        config_choose(machine, "gpu.devices", NULL, "No GPU here: %s.", found->gpu_error);
        return;
    }
    const char *some = good_gpus(machine, found);
    config_choose(machine, "gpu.devices", some ? some : "all", "Here: %s.%s",
                  gpu_names(machine, found), some ? " Those that work." : "");
    uint64_t least = found->gpus[0].facts.memory_bytes;
    for (int i = 1; i < found->gpu_count; i++)
        least = found->gpus[i].facts.memory_bytes < least ? found->gpus[i].facts.memory_bytes
                                                          : least;
    unsigned processes = (unsigned)(least / 10 / CONTEXT_BYTES);
    if (processes < 4)
        config_choose(machine, "gpu.processes",
                      arena_printf(arena, "%u", processes ? processes : 1),
                      "A tenth of the %llu GiB of the smallest GPU.",
                      (unsigned long long)(least / GIB));
}

/* Half of the memory for candidates, one on each CPU; the other half for references, compilers and
 * the page cache. */
static void choose_memory(struct config_machine *machine, const struct cpu *cpu)
{
    uint64_t memory = memory_bytes();
    uint64_t each = memory / 2 / (uint64_t)cpu->cores;
    each = each < 256 * MIB ? 256 * MIB : each - each % (256 * MIB);
    if (memory == 0)
        return;
    config_choose(machine, "run.memory_bytes",
                  each < 2 * GIB
                      ? arena_printf(&machine->arena, "%lluMiB", (unsigned long long)(each / MIB))
                      : "2GiB",
                  "%llu GiB of memory for %d CPUs with a candidate on each.",
                  (unsigned long long)(memory / GIB), cpu->cores);
}

static void choose_cpus(struct config_machine *machine, const struct cpu *cpu)
{
    if (cpu->quota > 0 && cpu->quota < cpu->cores)
        config_choose(machine, "run.threads",
                      arena_printf(&machine->arena, "%d", cpu->quota < 1 ? 1 : (int)cpu->quota),
                      "The cgroup grants the time of %.1f of %d CPUs.", cpu->quota, cpu->cores);
    else
        config_choose(machine, "run.threads", NULL, "%d usable CPUs: %s.", cpu->cores, cpu->model);
}

/* A tenth of what is free, within bounds. */
static void choose_disk(struct config_machine *machine, const char *path, const char *directory,
                        uint64_t most)
{
    uint64_t free = free_bytes(directory);
    uint64_t part = free / 10 < 64 * MIB ? 64 * MIB : free / 10 > most ? most : free / 10;
    if (free > 0)
        config_choose(machine, path, size_text(machine, part), "%s free in %s.",
                      size_text(machine, free), directory);
}

static void choose_store(struct config_machine *machine, const struct settings *settings)
{
    struct err err;
    char *cache = paths_cache(cache_settings(settings)->directory, &err);
    char *state = paths_state(&err);
    choose_disk(machine, "cache.max_bytes", cache, 20 * GIB);
    choose_disk(machine, "queue.keep_bytes", state, 4 * GIB);
    if (state)
        config_choose(
            machine, "queue.url", NULL,
            "One machine: sqlite:%s/queue.db. Several: redis://HOST:6379, the same on all "
            "of them.",
            state);
    else
        config_choose(machine, "queue.url", NULL,
                      "Several machines: redis://HOST:6379, the same on all of them.");
    mem_free(cache);
    mem_free(state);
}

static void choose_python(struct config_machine *machine, const struct capabilities *found)
{
    if (found->torch_error[0] || !found->python[0])
        config_choose(machine, "python.path", NULL, "No torch problems here: %s.",
                      found->torch_error[0] ? found->torch_error : "no Python was found");
    else
        config_choose(machine, "python.path", arena_strdup(&machine->arena, found->python),
                      "It has PyTorch, loaded in %.1f s.", found->torch_load_ms * 1e-3);
}

void config_machine_init(struct config_machine *machine, const struct settings *settings,
                         const struct capabilities *found)
{
    struct cpu cpu;
    *machine = (struct config_machine){0};
    cpu_detect(&cpu);
    choose_store(machine, settings);
    choose_memory(machine, &cpu);
    choose_cpus(machine, &cpu);
    choose_gpus(machine, found);
    choose_python(machine, found);
    choose_server(machine, &cpu);
}

void config_machine_deinit(struct config_machine *machine)
{
    arena_deinit(&machine->arena);
}
