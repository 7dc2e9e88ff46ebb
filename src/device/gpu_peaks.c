#include "device/gpu_peaks.h"

#include "base/array.h"
#include "base/embed.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "device/gpu_facts.h"
#include "device/gpu_memory.h"

#include <math.h>
#include <stdio.h>

#define THREADS 256
#define BLOCKS 4 /* of a multiprocessor: all of them at once, on every GPU there is */
#define DEPTH 8  /* as in gpu_peaks.cu */
#define WINDOW_MS 0.4
#define WINDOWS 4
#define ROUNDS_MAX (1 << 20)
#define L2_DOUBT 1.5
#define BUSY 0.6 /* a part of what it should do */
#define DRAM_BYTES_MIN ((uint64_t)64 << 20)
/* Raised when a figure is measured in another way. */
#define RECORD_VERSION 1

EMBED_TEXT(gpu_peaks_source, "src/device/gpu_peaks.cu");

const char *const gpu_peak_names[GPU_PEAK_COUNT] = {
#define X(symbol, name, kernel) name,
    GPU_PEAKS(X)
#undef X
};

static const char *const kernels[GPU_PEAK_COUNT] = {
#define X(symbol, name, kernel) kernel,
    GPU_PEAKS(X)
#undef X
};

static double largest_peak(const struct gpu_peaks *peaks, enum gpu_peak first, enum gpu_peak last)
{
    double most = 0;
    for (enum gpu_peak peak = first; peak <= last; peak++)
        most = fmax(most, peaks->measured[peak]);
    return most;
}

/* TF32 runs at half the rate of 16 bits (and three products of 16 bits make one of 32, Henry et al.
 * 2019), 8 bits at twice that rate. */
static void bound_arithmetic(struct gpu_peaks *peaks, const struct gpu *facts)
{
    double clocks = facts->multiprocessors * facts->clock_mhz * 1e6;
    const struct gpu_architecture *row = gpu_architecture_of(facts);
    if (!row)
        return;
    double half = fmax(row->f16 * clocks, largest_peak(peaks, GPU_F16, GPU_BF16));
    double plain = fmax(row->f32, row->f64) * clocks;
    plain = fmax(plain, largest_peak(peaks, GPU_F32, GPU_TF32));
    peaks->wide_flops = fmax(plain, half / 2);
    peaks->narrow_flops = fmax(plain, half * 2);
}

void gpu_peaks_bound(struct gpu_peaks *peaks, const struct gpu *facts)
{
    double dram = largest_peak(peaks, GPU_DRAM_READ, GPU_DRAM_COPY);
    double l2 = largest_peak(peaks, GPU_L2_READ, GPU_L2_COPY);
    peaks->wide_flops = peaks->narrow_flops = 0;
    bound_arithmetic(peaks, facts);
    peaks->l2_bytes = (double)facts->l2_bytes;
    peaks->dram_bytes_per_s = fmax(dram, facts->memory_bytes_per_s);
    peaks->l2_bytes_per_s = l2 > 0 ? fmax(l2 * L2_DOUBT, peaks->dram_bytes_per_s)
                                   : GPU_PEAKS_CACHES * peaks->dram_bytes_per_s;
}

double gpu_peaks_floor_ms(const struct gpu_peaks *peaks, double flops, double bytes, bool narrow)
{
    double rate = narrow ? peaks->narrow_flops : peaks->wide_flops;
    /* What it reads may lie in L2 before, what it wrote last may stay there: twice its size. */
    double through = fmax(bytes - 2 * peaks->l2_bytes, 0);
    double floor = rate > 0 ? flops / rate : 0;
    if (peaks->l2_bytes_per_s > 0)
        floor = fmax(floor, bytes / peaks->l2_bytes_per_s);
    if (peaks->dram_bytes_per_s > 0)
        floor = fmax(floor, through / peaks->dram_bytes_per_s);
    return floor * 1e3 / GPU_PEAKS_MARGIN;
}

struct gauge {
    const struct gpu_context *gpu;
    void *module, *functions[GPU_PEAK_COUNT];
    struct gpu_memory from, to, sink;
    cuda_event start, stop;
};

static cuda_result load_gauge(struct gauge *gauge, const void *image)
{
    const struct cuda *cuda = &gauge->gpu->cuda;
    cuda_result result = cuda->context_use(gauge->gpu->context);
    if (result == 0)
        result = cuda->module_load(&gauge->module, image);
    if (result != 0)
        gauge->module = NULL;
    for (int i = 0; result == 0 && i < GPU_PEAK_COUNT; i++)
        result = cuda->module_function(&gauge->functions[i], gauge->module, kernels[i]);
    if (result == 0)
        result = cuda->event_create(&gauge->start, 0);
    if (result == 0)
        result = cuda->event_create(&gauge->stop, 0);
    return result;
}

/* Several times the size of L2, as far as memory allows. */
static int allocate_vectors(struct gauge *gauge, struct err *err)
{
    const struct gpu *facts = &gauge->gpu->facts;
    uint64_t bytes = DRAM_BYTES_MIN;
    while (bytes < 4 * facts->l2_bytes && bytes < facts->memory_bytes / 16)
        bytes *= 2;
    int result = gpu_memory_make(&gauge->sink, gauge->gpu, 4, err);
    if (result == 0)
        result = gpu_memory_make(&gauge->from, gauge->gpu, bytes, err);
    if (result == 0)
        result = gpu_memory_make(&gauge->to, gauge->gpu, bytes, err);
    return result;
}

static bool is_l2(enum gpu_peak peak)
{
    return peak >= GPU_L2_READ && peak <= GPU_L2_COPY;
}

/* Vectors of 16 bytes that a kernel goes through in one round. Of L2 a quarter: its two halves may
 * each hold a copy. */
static uint64_t vector_count(const struct gauge *gauge, enum gpu_peak peak)
{
    uint64_t l2 = gauge->gpu->facts.l2_bytes / (peak == GPU_L2_COPY ? 8 : 4);
    if (peak >= GPU_F32)
        return 0;
    return (is_l2(peak) && l2 < gauge->from.bytes ? l2 : gauge->from.bytes) / 16;
}

/* Bytes or operations of all threads in one round. */
static double amount_of(const struct gauge *gauge, enum gpu_peak peak)
{
    double threads = (double)gauge->gpu->facts.multiprocessors * BLOCKS * THREADS;
    switch (peak) {
    case GPU_F32:
    case GPU_F64:
        return threads * DEPTH * 8 * 2;
    case GPU_F16:
    case GPU_BF16:
        return threads / 32 * DEPTH * (2.0 * 16 * 8 * 16);
    case GPU_TF32:
        return threads / 32 * DEPTH * (2.0 * 16 * 8 * 8);
    case GPU_DRAM_COPY:
    case GPU_L2_COPY:
        return 2.0 * 16 * (double)vector_count(gauge, peak);
    default:
        return 16.0 * (double)vector_count(gauge, peak);
    }
}

static cuda_result run_gauge(const struct gauge *gauge, enum gpu_peak peak, uint64_t rounds,
                             double *ms)
{
    const struct cuda *cuda = &gauge->gpu->cuda;
    cuda_at from = gauge->from.address, to = gauge->to.address, sink = gauge->sink.address;
    uint64_t count = vector_count(gauge, peak);
    void *parameters[] = {&from, &to, &count, &rounds, &sink};
    unsigned blocks = (unsigned)gauge->gpu->facts.multiprocessors * BLOCKS;
    float elapsed = 0;
    cuda_result result = cuda->event_record(gauge->start, NULL);
    if (result == 0)
        result = cuda->launch(gauge->functions[peak], blocks, 1, 1, THREADS, 1, 1, 0, NULL,
                              parameters, NULL);
    if (result == 0)
        result = cuda->event_record(gauge->stop, NULL);
    if (result == 0)
        result = cuda->synchronize();
    if (result == 0)
        result = cuda->event_elapsed(&elapsed, gauge->start, gauge->stop);
    *ms = elapsed;
    return result;
}

/* Doubles the work until the clock resolves it, then takes the best of a few runs. */
static cuda_result measure_peak(const struct gauge *gauge, enum gpu_peak peak, double *best)
{
    uint64_t rounds = 1;
    double ms = 0;
    cuda_result result = run_gauge(gauge, peak, rounds, &ms);
    for (int window = 0; result == 0 && window < WINDOWS; window++) {
        if (ms < WINDOW_MS && rounds < ROUNDS_MAX) {
            double factor = fmin(fmax(1.3 * WINDOW_MS / fmax(ms, 1e-3), 2), 64);
            rounds = (uint64_t)((double)rounds * factor);
            window = -1;
        }
        result = run_gauge(gauge, peak, rounds, &ms);
        if (result == 0 && ms >= WINDOW_MS / 2)
            *best = fmax(*best, amount_of(gauge, peak) * (double)rounds / (ms * 1e-3));
    }
    return result;
}

static cuda_result measure_all(const struct gauge *gauge, double best[GPU_PEAK_COUNT])
{
    cuda_result result = 0;
    for (enum gpu_peak peak = 0; result == 0 && peak < GPU_PEAK_COUNT; peak++)
        if (peak < GPU_TF32 || gauge->gpu->facts.major >= 8)
            result = measure_peak(gauge, peak, &best[peak]);
    return result;
}

static void unload_gauge(struct gauge *gauge)
{
    const struct cuda *cuda = &gauge->gpu->cuda;
    if (gauge->start)
        cuda->event_destroy(gauge->start);
    if (gauge->stop)
        cuda->event_destroy(gauge->stop);
    if (gauge->module)
        cuda->module_unload(gauge->module);
    gpu_memory_free(&gauge->from);
    gpu_memory_free(&gauge->to);
    gpu_memory_free(&gauge->sink);
}

static int gauge_run(double best[GPU_PEAK_COUNT], const struct gpu_context *gpu, const void *image,
                     struct err *err)
{
    struct gauge gauge = {.gpu = gpu};
    const struct cuda *cuda = &gpu->cuda;
    int result = cuda_check(cuda, load_gauge(&gauge, image), "cannot load the kernels of gpu_peaks",
                            err);
    if (result == 0)
        result = allocate_vectors(&gauge, err);
    if (result == 0)
        result = cuda_check(cuda, measure_all(&gauge, best), "cannot measure the GPU's peaks", err);
    unload_gauge(&gauge);
    return result;
}

/* The GPU reached the rate that it should: no other work disturbed the measurement. */
static bool was_quiet(const struct gpu_peaks *peaks, const struct gpu *facts)
{
    struct gpu_peaks should = {0};
    gpu_peaks_bound(&should, facts);
    return peaks->measured[GPU_DRAM_READ] > BUSY * should.dram_bytes_per_s &&
           peaks->measured[GPU_L2_READ] > peaks->measured[GPU_DRAM_READ];
}

static char *record_path(const char *directory, const struct gpu_context *gpu)
{
    char hex[HASH_HEX_BYTES];
    struct hash *hash = hash_new();
    hash_update_string(hash, gpu->facts.uuid);
    hash_update(hash, &gpu->cuda.version, sizeof gpu->cuda.version);
    hash_finish(hash, hex);
    return mem_printf("%s/gpu-peaks-%.16s.json", directory, hex);
}

static bool record_read(const char *path, struct gpu_peaks *peaks)
{
    json_t *record = NULL, *measured = NULL;
    int64_t version = 0, runs = 0;
    *peaks = (struct gpu_peaks){0};
    bool good = json_file_read(path, 65536, &record, NULL) == 0 &&
                json_get_int(record, "version", &version, NULL) == 0 && version == RECORD_VERSION &&
                json_get_int(record, "runs", &runs, NULL) == 0 && runs > 0 &&
                json_get_bool(record, "settled", &peaks->settled, NULL) == 0 &&
                json_get_object(record, "measured", &measured, NULL) == 0;
    for (int i = 0; good && i < GPU_PEAK_COUNT; i++)
        good = json_get_double(measured, gpu_peak_names[i], &peaks->measured[i], NULL) == 0 &&
               peaks->measured[i] >= 0;
    peaks->runs = runs > GPU_PEAKS_RUNS_MAX ? GPU_PEAKS_RUNS_MAX : (int)runs;
    json_decref(record);
    if (!good)
        *peaks = (struct gpu_peaks){0};
    return good;
}

/* Best effort: without a record the next process measures again. */
static void record_write(const char *path, const struct gpu *facts, const struct gpu_peaks *peaks)
{
    json_t *record = json_object();
    json_t *measured = json_object();
    struct buf text;
    buf_init(&text, 65536);
    json_put(record, "version", json_integer(RECORD_VERSION));
    json_put(record, "name", json_text(facts->name));
    json_put(record, "uuid", json_text(facts->uuid));
    json_put(record, "runs", json_integer(peaks->runs));
    json_put(record, "settled", json_boolean(peaks->settled));
    for (int i = 0; i < GPU_PEAK_COUNT; i++)
        json_put(measured, gpu_peak_names[i], json_number(peaks->measured[i]));
    json_put(record, "measured", measured);
    if (json_line_write(record, &text, NULL) == 0)
        (void)!file_write_atomic(path, text.data, text.len, 0600, NULL);
    json_decref(record);
    buf_deinit(&text);
}

bool gpu_peaks_recall(struct gpu_peaks *peaks, const struct gpu_context *gpu,
                      const char *state_directory)
{
    char *path = state_directory ? record_path(state_directory, gpu) : NULL;
    *peaks = (struct gpu_peaks){0};
    if (path)
        (void)!record_read(path, peaks);
    mem_free(path);
    gpu_peaks_bound(peaks, &gpu->facts);
    return peaks->settled;
}

int gpu_peaks_get(struct gpu_peaks *peaks, const struct gpu_context *gpu, const void *image,
                  const char *state_directory, struct err *err)
{
    double best[GPU_PEAK_COUNT] = {0};
    if (gpu_peaks_recall(peaks, gpu, state_directory))
        return 0;
    int result = gauge_run(best, gpu, image, err);
    if (result < 0)
        return result;
    for (int i = 0; i < GPU_PEAK_COUNT; i++)
        peaks->measured[i] = fmax(peaks->measured[i], best[i]);
    peaks->runs++;
    peaks->settled = was_quiet(peaks, &gpu->facts) || peaks->runs >= GPU_PEAKS_RUNS_MAX;
    gpu_peaks_bound(peaks, &gpu->facts);
    if (state_directory) {
        char *path = record_path(state_directory, gpu);
        record_write(path, &gpu->facts, peaks);
        mem_free(path);
    }
    return 0;
}

void gpu_peak_text(const struct gpu_peaks *peaks, enum gpu_peak peak, char *text, size_t bytes)
{
    double value = peaks->measured[peak] * 1e-12;
    const char *unit = peak < GPU_F32 ? "TB/s" : "TFLOP/s";
    snprintf(text, bytes, "%.*f %s", value < 10 ? 2 : 0, value, unit);
}
