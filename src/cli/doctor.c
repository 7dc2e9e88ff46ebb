/* doctor: this machine's capabilities, probed by use rather than by version numbers. */
#include "cli/cli.h"

#include "base/file.h"
#include "base/paths.h"
#include "cli/doctor.h"
#include "device/cpu.h"
#include "sandbox/sandbox.h"

#include <stdio.h>
#include <unistd.h>

static const struct {
    const char *name, *meaning;
} layers[] = {
#define X(symbol, name, meaning) {name, meaning},
    SANDBOX_LAYERS(X)
#undef X
};

/* "; cannot be set: core dumps, stack", or nothing; a static buffer. */
static const char *limits_missing(uint32_t found)
{
    static char text[256];
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < SANDBOX_LIMIT_COUNT; i++) {
        const char *name = sandbox_limit_missing(found, i);
        if (name)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                     used ? ", " : "; cannot be set: ", name);
    }
    return text;
}

static void report_sandbox(struct report *report, const struct capabilities *found)
{
    buf_puts(report->out, "Sandbox\n");
    for (int i = 0; i < SANDBOX_LAYER_COUNT; i++) {
        bool held = found->layers >> i & 1;
        doctor_line(report, held, layers[i].name, "%s %s%s",
                    held ? "keeps out" : "missing, so not kept out:", layers[i].meaning,
                    i == LAYER_LIMITS ? limits_missing(found->layers) : "");
    }
    doctor_line(report, found->landlock_abi > 0, "Landlock version", "ABI %d", found->landlock_abi);
    doctor_line(report, found->can_read, "memory reading", "%s",
                found->can_read ? "outputs of torch candidates are read from outside"
                                : "process_vm_readv is refused: torch problems cannot be judged");
    if (found->sandbox_error[0])
        doctor_line(report, false, "sandbox", "%s", found->sandbox_error);
    else
        doctor_line(report, true, "standby", "%.1f ms from request to ready (native)",
                    found->native_ms);
}

static void report_compiler(struct report *report, const char *name, const char *program,
                            const char *version, const char *missing)
{
    if (program[0])
        doctor_line(report, true, name, "%s, %s", program, version);
    else
        doctor_line(report, false, name, "%s", missing);
}

static void report_tools(struct report *report, const struct capabilities *found)
{
    buf_puts(report->out, "Compilers\n");
    report_compiler(report, "C", found->cc, found->cc_version,
                    "no C compiler: install gcc, or set WARPGYM_CC; native problems cannot be "
                    "judged");
    report_compiler(report, "C++", found->cxx, found->cxx_version,
                    "no C++ compiler: install g++, or set WARPGYM_CXX; C++ candidates cannot be "
                    "judged");
    doctor_line(report, found->nvcc[0], "CUDA", "%s",
                found->nvcc[0] ? found->nvcc
                               : "no nvcc: CUDA candidates are not even compiled here");
    if (found->nvrtc_error[0])
        doctor_line(report, false, "device code", "%s", found->nvrtc_error);
    else
        doctor_line(report, true, "device code", "NVRTC %d.%d, %s", found->nvrtc_version / 1000,
                    found->nvrtc_version % 1000, found->nvrtc);
    for (size_t i = 0; i < found->language_count; i++)
        doctor_line(report, true, found->languages[i].name, "%s", found->languages[i].program);
    buf_puts(report->out, "PyTorch\n");
    if (found->torch_error[0])
        doctor_line(report, false, "standby", "%s", found->torch_error);
    else
        doctor_line(report, true, "standby",
                    "%s; loaded in %.0f ms once, then %.1f ms for each candidate", found->python,
                    found->torch_load_ms, found->torch_ms);
}

static void report_machine(struct report *report, const struct capabilities *found)
{
    struct cpu cpu;
    cpu_detect(&cpu);
    buf_puts(report->out, "Machine\n");
    doctor_line(report, true, "CPU", "%s, %d of %d logical cores", cpu.model, cpu.cores,
                cpu.cores_online);
    doctor_line(report, found->awake, "steady clock", "%s",
                found->awake
                    ? "idle processors are kept from halting while something is timed"
                    : "/dev/cpu_dma_latency cannot be opened (root may): threads of a candidate "
                      "wake late, and its times scatter");
    if (found->have_peaks)
        doctor_line(report, true, "peaks", "%.0f GFLOP/s in f32, %.1f GB/s from memory",
                    found->peaks.f32_flops * 1e-9, found->peaks.bytes_per_s[PEAKS_DRAM] * 1e-9);
    doctor_line(report, found->cache[0], "build cache", "%s",
                found->cache[0] ? found->cache : "none can be written");
}

/* Those of languages.path. */
static json_t *languages_json(const struct capabilities *found)
{
    json_t *object = json_object();
    for (size_t i = 0; i < found->language_count; i++)
        json_put(object, found->languages[i].name, json_text(found->languages[i].program));
    return object;
}

static json_t *limits_json(uint32_t found)
{
    json_t *array = json_array();
    for (int i = 0; i < SANDBOX_LIMIT_COUNT; i++)
        if (sandbox_limit_missing(found, i))
            json_array_append_new(array, json_string(sandbox_limit_missing(found, i)));
    return array;
}

static json_t *as_json(const struct capabilities *found)
{
    json_t *object = json_object();
    json_t *held = json_object();
    for (int i = 0; i < SANDBOX_LAYER_COUNT; i++)
        json_put(held, layers[i].name, json_boolean(found->layers >> i & 1));
    json_put(object, "sandbox", held);
    json_put(object, "limits_missing", limits_json(found->layers));
    json_put(object, "landlock_abi", json_integer(found->landlock_abi));
    json_put(object, "memory_reading", json_boolean(found->can_read));
    json_put(object, "sandbox_error", doctor_text(found->sandbox_error));
    json_put(object, "native_ready_ms", json_number(found->native_ms));
    json_put(object, "cc", doctor_text(found->cc));
    json_put(object, "cxx", doctor_text(found->cxx));
    json_put(object, "nvcc", doctor_text(found->nvcc));
    json_put(object, "nvrtc", doctor_text(found->nvrtc));
    json_put(object, "nvrtc_error", doctor_text(found->nvrtc_error));
    json_put(object, "languages", languages_json(found));
    json_put(object, "python", doctor_text(found->python));
    json_put(object, "torch_error", doctor_text(found->torch_error));
    json_put(object, "torch_load_ms", json_number(found->torch_load_ms));
    json_put(object, "torch_ready_ms", json_number(found->torch_ms));
    json_put(object, "kept_awake", json_boolean(found->awake));
    doctor_gpus_json(object, found);
    return object;
}

/* What a candidate could do here that it is kept from elsewhere. */
static void report_missing(struct report *report, const struct capabilities *found)
{
    uint32_t count = 0;
    struct buf text;
    buf_init(&text, 4000);
    for (int i = 0; i < SANDBOX_LAYER_COUNT; i++)
        if (!(found->layers >> i & 1))
            buf_printf(&text, "%s%s", count++ ? "; " : "", layers[i].meaning);
    if (count > 0)
        buf_printf(report->out,
                   "%u of %d protections are missing. Candidates are not kept from: %s. Judge "
                   "only candidates that you trust, or allow what docs/guide/deploy.md lists.\n",
                   count, SANDBOX_LAYER_COUNT, text.data);
    buf_deinit(&text);
}

static int doctor_run(struct cli_call *call, void *arguments, struct err *err)
{
    const bool *json = arguments;
    struct report report = {.out = &call->out, .colour = style_wanted(STDOUT_FILENO)};
    struct capabilities found;
    int result = capabilities_find(&call->settings, &found, err);
    if (result < 0)
        return result;
    if (*json) {
        cli_put_json(call, as_json(&found));
    } else {
        report_sandbox(&report, &found);
        report_tools(&report, &found);
        report_machine(&report, &found);
        doctor_gpus(&report, &found);
        report_missing(&report, &found);
    }
    bool protects = (found.layers & SANDBOX_ALL_LAYERS) == SANDBOX_ALL_LAYERS && found.can_read;
    bool works = !found.sandbox_error[0] && found.cc[0];
    return protects && works ? EXIT_PASSED : EXIT_SOME_FAILED;
}

int doctor_main(struct cli_call *call)
{
    bool json = false;
    const struct cli_option options[] = {
        OPTION_FLAG(0, "json", &json, "one JSON object"),
        OPTION_SET,
        OPTION_END,
    };
    return cli_run(call, options, doctor_run, &json);
}
