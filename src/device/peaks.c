#include "device/peaks.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "device/peaks_kernels.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PHASE_NS 15000000
#define WINDOW_NS 50000
#define WINDOWS_MIN 8 /* of a thread that had no processor while the others measured */
/* A window may be spoilt; a slot is what all cores did together in this long. */
#define SLOT_NS 2500000
#define SLOTS (PHASE_NS / SLOT_NS)
/* Raised when a figure is measured in another way. */
#define RECORD_VERSION 2
#define BUFFERS_MAX ((double)(1 << 30)) /* of all threads together */
#define CPUS_MAX 8192

enum phase { PHASE_F32, PHASE_F64, PHASE_L1, PHASE_L2, PHASE_L3, PHASE_DRAM, PHASES };

struct gauge; /* the whole measurement */

struct worker {
    struct gauge *gauge;
    pthread_t thread;
    int processor; /* to stay on; -1: anywhere */
    char *buffer;
    double best[PHASES];        /* per second, of this thread's best window */
    double slot[PHASES][SLOTS]; /* amount done in each slot */
    double idle;                /* part of the wall time without the processor */
};

struct gauge {
    const struct peaks_kernels *kernels;
    size_t working_set[PHASES]; /* of one thread; 0: phase not measured */
    size_t buffer_bytes;
    struct worker *workers;
    int count;
    pthread_mutex_t door; /* closed until all threads are made */
    pthread_barrier_t barrier;
    _Atomic int64_t start_ns;
};

/* Runs one phase's loop over `amount` rounds or bytes from `offset`; returns operations or
 * bytes. */
static double run_loop(const struct worker *worker, enum phase phase, size_t *offset,
                       uint64_t amount)
{
    const struct gauge *gauge = worker->gauge;
    const struct peaks_kernels *kernels = gauge->kernels;
    size_t set = gauge->working_set[phase];
    double bytes = 0;
    switch (phase) {
    case PHASE_F32:
        kernels->f32(amount);
        return (double)amount * kernels->f32_per_round;
    case PHASE_F64:
        kernels->f64(amount);
        return (double)amount * kernels->f64_per_round;
    default:
        for (amount *= PEAKS_READ_BYTES; amount > 0;) {
            size_t part = set - *offset < amount ? set - *offset : amount;
            kernels->read(worker->buffer + *offset, part);
            *offset = (*offset + part) % set;
            amount -= part;
            bytes += (double)part;
        }
        return bytes;
    }
}

static void run_phase(struct worker *worker, enum phase phase)
{
    int64_t start_ns = atomic_load(&worker->gauge->start_ns);
    int64_t now_ns = clock_now_ns();
    size_t offset = 0;
    uint64_t amount = 16;
    for (int windows = 0; now_ns - start_ns < PHASE_NS || windows < WINDOWS_MIN;) {
        double done = run_loop(worker, phase, &offset, amount);
        int64_t end_ns = clock_now_ns();
        double window_ns = (double)(end_ns - now_ns);
        /* What takes no time at all has not been measured. */
        if (window_ns > WINDOW_NS / 4.0 && done / window_ns > worker->best[phase] * 1e-9)
            worker->best[phase] = done / window_ns * 1e9;
        if (end_ns - start_ns < PHASE_NS)
            worker->slot[phase][(end_ns - start_ns) / SLOT_NS] += done;
        if (window_ns < WINDOW_NS)
            amount *= 2;
        else
            windows++;
        now_ns = end_ns;
    }
}

static double seconds_of(clockid_t id)
{
    struct timespec now = {0};
    clock_gettime(id, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void *worker_main(void *data)
{
    struct worker *worker = data;
    struct gauge *gauge = worker->gauge;
    cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
    if (set && worker->processor >= 0) {
        CPU_ZERO_S(CPU_ALLOC_SIZE(CPUS_MAX), set);
        CPU_SET_S((size_t)worker->processor, CPU_ALLOC_SIZE(CPUS_MAX), set);
        sched_setaffinity(0, CPU_ALLOC_SIZE(CPUS_MAX), set);
    }
    CPU_FREE(set);
    pthread_mutex_lock(&gauge->door);
    pthread_mutex_unlock(&gauge->door);
    /* First touch by its reader, for memory near it; not zero, which may be one shared page. */
    memset(worker->buffer, 1, gauge->buffer_bytes);
    double busy = 0, wall = 0;
    for (enum phase phase = 0; phase < PHASES; phase++) {
        pthread_barrier_wait(&gauge->barrier);
        if (worker == gauge->workers)
            atomic_store(&gauge->start_ns, clock_now_ns());
        pthread_barrier_wait(&gauge->barrier);
        if (phase >= PHASE_L1 && gauge->working_set[phase] == 0)
            continue;
        double wall_start = seconds_of(CLOCK_MONOTONIC);
        double busy_start = seconds_of(CLOCK_THREAD_CPUTIME_ID);
        run_phase(worker, phase);
        busy += seconds_of(CLOCK_THREAD_CPUTIME_ID) - busy_start;
        wall += seconds_of(CLOCK_MONOTONIC) - wall_start;
    }
    worker->idle = wall > 0 ? 1 - busy / wall : 1;
    return NULL;
}

static size_t whole_pages(double bytes)
{
    return (size_t)bytes / 4096 * 4096;
}

/* Working sets that fit the level meant, and nothing nearer. A level whose share is not clearly
 * larger than the one before cannot be distinguished by size and is left out. Of the last cache,
 * which a virtual machine may share with other guests and see whole, a set that is just too large
 * for the cache before: its fastest part. */
static void plan_gauge(struct gauge *gauge, const struct cpu *cpu)
{
    double cores = cpu->cores;
    double l1 = cpu->l1_total ? (double)cpu->l1_total / cores : 32768;
    double l2 = (double)cpu->l2_total / cores;
    double l3 = (double)cpu->l3_total / cores;
    size_t *set = gauge->working_set;
    set[PHASE_L1] = whole_pages(fmax(l1 / 2, 4096));
    set[PHASE_L2] = l2 >= 3 * l1 ? whole_pages(fmax(l2 / 2, l1 * 1.5)) : 0;
    set[PHASE_L3] = l3 >= 3 * fmax(l2, l1) ? whole_pages(fmax(l2, l1) * 2) : 0;
    double largest = fmax(BUFFERS_MAX / cores, (double)whole_pages(l3 / 2) + 4096);
    set[PHASE_DRAM] = whole_pages(
        fmin(fmax(1.5 * (l3 + l2), fmax(64.0 * (1 << 20) / cores, 4 << 20)), largest));
    gauge->buffer_bytes = set[PHASE_DRAM];
    for (enum phase phase = PHASE_L1; phase < PHASE_DRAM; phase++)
        if (set[phase] > gauge->buffer_bytes)
            set[phase] = 0;
}

/* Makes as many threads as there are processors, or as the system grants; how many. */
static int workers_start(struct gauge *gauge, char *memory)
{
    cpu_set_t *mine = CPU_ALLOC(CPUS_MAX);
    bool known = mine && sched_getaffinity(0, CPU_ALLOC_SIZE(CPUS_MAX), mine) == 0;
    int processor = -1, started = 0;
    for (; started < gauge->count; started++) {
        struct worker *worker = &gauge->workers[started];
        *worker = (struct worker){.gauge = gauge, .processor = -1};
        worker->buffer = memory + gauge->buffer_bytes * (size_t)started;
        for (processor++; known && processor < CPUS_MAX; processor++)
            if (CPU_ISSET_S((size_t)processor, CPU_ALLOC_SIZE(CPUS_MAX), mine)) {
                worker->processor = processor;
                break;
            }
        if (pthread_create(&worker->thread, NULL, worker_main, worker) != 0)
            break;
    }
    CPU_FREE(mine);
    return started;
}

static int gauge_run(struct gauge *gauge, struct err *err)
{
    size_t bytes = gauge->buffer_bytes * (size_t)gauge->count;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return err_sys(err, errno, "cannot map %zu bytes to measure the memory's speed", bytes);
    madvise(memory, bytes, MADV_HUGEPAGE);
    pthread_mutex_init(&gauge->door, NULL);
    pthread_mutex_lock(&gauge->door);
    gauge->count = workers_start(gauge, memory);
    int result = 0;
    if (gauge->count > 0)
        pthread_barrier_init(&gauge->barrier, NULL, (unsigned)gauge->count);
    else
        result = err_set(err, ERR_IO, "cannot start a thread to measure this machine's speed");
    pthread_mutex_unlock(&gauge->door);
    for (int i = 0; i < gauge->count; i++)
        pthread_join(gauge->workers[i].thread, NULL);
    if (gauge->count > 0)
        pthread_barrier_destroy(&gauge->barrier);
    pthread_mutex_destroy(&gauge->door);
    munmap(memory, bytes);
    return result;
}

/* The sum of each thread's best: right for what each core has to itself, too high for what they
 * share. */
static double sum_of_best(const struct gauge *gauge, enum phase phase)
{
    double sum = 0;
    for (int i = 0; i < gauge->count; i++)
        sum += gauge->workers[i].best[phase];
    return sum;
}

/* The best that all threads did together in one slot. */
static double best_together(const struct gauge *gauge, enum phase phase)
{
    double best = 0;
    for (int slot = 0; slot < SLOTS; slot++) {
        double sum = 0;
        for (int i = 0; i < gauge->count; i++)
            sum += gauge->workers[i].slot[phase][slot];
        best = fmax(best, sum / SLOT_NS * 1e9);
    }
    return best;
}

/* Others ran where we measured, or much ran elsewhere and used the memory. */
static bool was_busy(const struct gauge *gauge, const struct cpu *cpu, double load)
{
    double idle = 0;
    for (int i = 0; i < gauge->count; i++)
        idle += gauge->workers[i].idle / gauge->count;
    return idle > 0.03 || load > 0.5 * cpu->cores_online;
}

/* How many times the single-precision peak 16- and 8-bit dot products may reach, at most: AMX does
 * 2048 8-bit operations a cycle where AVX-512 does 64 single ones (Intel's optimization manual,
 * chapter 20); a 512-bit VNNI or a pair of 256-bit multiply-adds does 4 times; ARM's matrix
 * instructions 8 times. */
static double narrow_factor(void)
{
    if (cpu_has_flag("amx_tile"))
        return 32;
    return cpu_has_flag("i8mm") ? 8 : cpu_has_flag("sme") ? 64 : 4;
}

static void gauge_read(const struct gauge *gauge, const struct cpu *cpu, double load,
                       struct peaks *peaks)
{
    double doubt = gauge->kernels->doubt;
    double capacity[PEAKS_LEVELS] = {(double)cpu->l1_total, (double)cpu->l2_total,
                                     (double)cpu->l3_total, INFINITY};
    bool busy = was_busy(gauge, cpu, load);
    *peaks = (struct peaks){.cores = cpu->cores, .runs = 1, .settled = !busy};
    peaks->f32_flops = sum_of_best(gauge, PHASE_F32) * doubt;
    peaks->f64_flops = sum_of_best(gauge, PHASE_F64) * doubt;
    peaks->narrow_flops = peaks->f32_flops * narrow_factor();
    for (int level = 0; level < PEAKS_LEVELS; level++) {
        enum phase phase = PHASE_L1 + (enum phase)level;
        bool shared = level >= PEAKS_L3 && !busy;
        peaks->capacity_bytes[level] = capacity[level];
        peaks->bytes_per_s[level] = (shared ? best_together(gauge, phase)
                                            : sum_of_best(gauge, phase)) *
                                    doubt;
    }
}

int peaks_measure(struct peaks *peaks, const struct cpu *cpu, struct err *err)
{
    struct gauge gauge = {.kernels = peaks_kernels_here(), .count = cpu->cores};
    double load = 0;
    if (getloadavg(&load, 1) < 1)
        load = 0;
    plan_gauge(&gauge, cpu);
    gauge.workers = mem_alloc((size_t)gauge.count * sizeof *gauge.workers);
    int result = gauge_run(&gauge, err);
    if (result == 0)
        gauge_read(&gauge, cpu, load, peaks);
    mem_free(gauge.workers);
    return result;
}

static const char *const level_names[PEAKS_LEVELS] = {"l1", "l2", "l3", "dram"};

static char *record_path(const char *directory, const struct cpu *cpu)
{
    char hex[HASH_HEX_BYTES];
    struct hash *hash = hash_new();
    hash_update_string(hash, cpu->key);
    hash_update(hash, &cpu->cores, sizeof cpu->cores);
    hash_finish(hash, hex);
    return mem_printf("%s/peaks-%.16s.json", directory, hex);
}

static bool record_read(const char *path, const struct cpu *cpu, struct peaks *peaks)
{
    json_t *record = NULL, *bytes_per_s = NULL;
    int64_t version = 0, runs = 0;
    bool good = json_file_read(path, 65536, &record, NULL) == 0 &&
                json_get_int(record, "version", &version, NULL) == 0 && version == RECORD_VERSION &&
                json_get_int(record, "runs", &runs, NULL) == 0 && runs > 0 &&
                json_get_bool(record, "settled", &peaks->settled, NULL) == 0 &&
                json_get_double(record, "f32_flops", &peaks->f32_flops, NULL) == 0 &&
                json_get_double(record, "f64_flops", &peaks->f64_flops, NULL) == 0 &&
                json_get_double(record, "narrow_flops", &peaks->narrow_flops, NULL) == 0 &&
                json_get_object(record, "bytes_per_s", &bytes_per_s, NULL) == 0;
    for (int level = 0; good && level < PEAKS_LEVELS; level++)
        good = json_get_double(bytes_per_s, level_names[level], &peaks->bytes_per_s[level], NULL) ==
                   0 &&
               peaks->bytes_per_s[level] >= 0;
    good = good && peaks->f32_flops > 0 && peaks->f64_flops > 0 && peaks->narrow_flops > 0;
    peaks->cores = cpu->cores;
    peaks->runs = runs > PEAKS_RUNS_MAX ? PEAKS_RUNS_MAX : (int)runs;
    peaks->capacity_bytes[PEAKS_L1] = (double)cpu->l1_total;
    peaks->capacity_bytes[PEAKS_L2] = (double)cpu->l2_total;
    peaks->capacity_bytes[PEAKS_L3] = (double)cpu->l3_total;
    peaks->capacity_bytes[PEAKS_DRAM] = INFINITY;
    json_decref(record);
    return good;
}

bool peaks_recall(struct peaks *peaks, const char *state_directory)
{
    struct cpu cpu;
    cpu_detect(&cpu);
    *peaks = (struct peaks){0};
    char *path = record_path(state_directory, &cpu);
    bool known = record_read(path, &cpu, peaks);
    mem_free(path);
    return known;
}

/* Best effort: without a record the next process measures again. */
static void record_write(const char *path, const struct cpu *cpu, const struct peaks *peaks)
{
    json_t *record = json_object();
    json_t *bytes_per_s = json_object();
    struct buf text;
    buf_init(&text, 65536);
    json_put(record, "version", json_integer(RECORD_VERSION));
    json_put(record, "model", json_text(cpu->model));
    json_put(record, "cores", json_integer(cpu->cores));
    json_put(record, "runs", json_integer(peaks->runs));
    json_put(record, "settled", json_boolean(peaks->settled));
    json_put(record, "f32_flops", json_number(peaks->f32_flops));
    json_put(record, "f64_flops", json_number(peaks->f64_flops));
    json_put(record, "narrow_flops", json_number(peaks->narrow_flops));
    for (int level = 0; level < PEAKS_LEVELS; level++)
        json_put(bytes_per_s, level_names[level], json_number(peaks->bytes_per_s[level]));
    json_put(record, "bytes_per_s", bytes_per_s);
    if (json_line_write(record, &text, NULL) == 0) {
        int ignored = file_write_atomic(path, text.data, text.len, 0600, NULL);
        (void)ignored;
    }
    json_decref(record);
    buf_deinit(&text);
}

static void keep_maxima(struct peaks *peaks, const struct peaks *before)
{
    peaks->f32_flops = fmax(peaks->f32_flops, before->f32_flops);
    peaks->f64_flops = fmax(peaks->f64_flops, before->f64_flops);
    peaks->narrow_flops = fmax(peaks->narrow_flops, before->narrow_flops);
    for (int level = 0; level < PEAKS_LEVELS; level++)
        peaks->bytes_per_s[level] = fmax(peaks->bytes_per_s[level], before->bytes_per_s[level]);
    peaks->runs = before->runs + 1;
    peaks->settled = peaks->settled || peaks->runs >= PEAKS_RUNS_MAX;
}

/* Two measurements at once would spoil each other: one at a time, the others then find its
 * record. */
static int record_lock(const char *directory)
{
    char *path = mem_printf("%s/peaks.lock", directory);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    mem_free(path);
    while (fd >= 0 && flock(fd, LOCK_EX) < 0 && errno == EINTR)
        continue;
    return fd;
}

int peaks_get(struct peaks *peaks, const char *state_directory, struct err *err)
{
    struct cpu cpu;
    cpu_detect(&cpu);
    if (!state_directory)
        return peaks_measure(peaks, &cpu, err);
    char *path = record_path(state_directory, &cpu);
    int result = 0;
    if (!record_read(path, &cpu, peaks) || !peaks->settled) {
        int lock = record_lock(state_directory);
        struct peaks before;
        bool known = record_read(path, &cpu, &before);
        if (known && before.settled) {
            *peaks = before;
        } else {
            result = peaks_measure(peaks, &cpu, err);
            if (result == 0 && known)
                keep_maxima(peaks, &before);
            if (result == 0)
                record_write(path, &cpu, peaks);
        }
        if (lock >= 0)
            close(lock);
    }
    mem_free(path);
    return result;
}

/* The level that stands behind all caches so far must deliver what they cannot hold, at its speed;
 * levels work at the same time, so the slowest alone counts. */
static double bytes_floor_s(const struct peaks *peaks, double bytes)
{
    double floor = 0, held = 0;
    for (int level = 0; level < PEAKS_LEVELS; level++) {
        if (peaks->bytes_per_s[level] > 0 && bytes > held)
            floor = fmax(floor, (bytes - held) / peaks->bytes_per_s[level]);
        held += peaks->capacity_bytes[level];
    }
    return floor;
}

static double floor_ms(const struct peaks *peaks, double peak_flops, double flops, double bytes)
{
    double compute_s = peak_flops > 0 && flops > 0 ? flops / peak_flops : 0;
    return fmax(compute_s, bytes_floor_s(peaks, bytes)) * 1e3 / PEAKS_MARGIN;
}

double peaks_floor_ms(const struct peaks *peaks, double flops, double bytes)
{
    /* A single-precision product can be had from three 16-bit ones (Henry et al. 2019, "Leveraging
     * the bfloat16 artificial intelligence datatype"), which are half as fast as 8-bit ones. */
    double peak = fmax(fmax(peaks->f32_flops, peaks->f64_flops), peaks->narrow_flops / 6);
    return floor_ms(peaks, peak, flops, bytes);
}

double peaks_floor_narrow_ms(const struct peaks *peaks, double flops, double bytes)
{
    double peak = fmax(fmax(peaks->f32_flops, peaks->f64_flops), peaks->narrow_flops);
    return floor_ms(peaks, peak, flops, bytes);
}
