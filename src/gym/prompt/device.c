/* What templates may say of the machine that judges. docs/reference/prompts.md lists it. Nothing is
 * measured and no GPU is opened for work: it has to be there at once.
 */
#include "gym/prompt/device.h"

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/paths.h"
#include "compile/recipe.h"
#include "device/cpu.h"
#include "device/gpu_facts.h"
#include "device/peaks.h"
#include "gym/prompt/prompt.h"
#include "judge/request/judge_settings.h"
#include "judge/request/language.h"

#include <string.h>

#define TEXT_BYTES 4096
#define KIB 1024.0

static json_t *bytes_text(double value, double unit)
{
    return value > 0 ? json_number(value / unit) : json_null();
}

/* What a person wants to know of a command line: how it optimises, not where it writes. */
static json_t *flags_json(const struct recipe *recipe)
{
    static const char *const shown[] = {"-std=", "--std=", "-O", "-march=", "-fopenmp", "-lm"};
    struct buf text;
    buf_init(&text, TEXT_BYTES);
    for (size_t i = 1; recipe->argv[i]; i++)
        for (size_t s = 0; s < COUNT(shown); s++)
            if (strncmp(recipe->argv[i], shown[s], strlen(shown[s])) == 0)
                buf_printf(&text, "%s%s", text.len ? " " : "", recipe->argv[i]);
    json_t *value = json_text(text.data);
    buf_deinit(&text);
    return value;
}

/* Null if there is no compiler for it. */
static json_t *compiler_json(const struct toolchain *toolchain, enum compile_kind kind)
{
    struct recipe recipe;
    json_t *value = json_null();
    if (recipe_init(&recipe, toolchain, kind, NULL, true, NULL) == 0) {
        value = json_object();
        json_put(value, "name", json_text(recipe.version));
        json_put(value, "flags", flags_json(&recipe));
    }
    recipe_deinit(&recipe);
    return value;
}

/* By the names of the languages that they compile for the CPU. */
static json_t *compilers_json(const struct toolchain *toolchain)
{
    json_t *object = json_object();
    const struct language *row;
    for (size_t i = 0; (row = language_at(i)); i++)
        if (row->format == PROBLEM_NATIVE && !row->gpu)
            json_put(object, row->name, compiler_json(toolchain, row->compile));
    return object;
}

static json_t *simd_json(void)
{
    static const char *const shown[] = {"avx2",        "fma",         "avx512f",  "avx512_vnni",
                                        "avx512_bf16", "avx512_fp16", "amx_bf16", "amx_int8",
                                        "asimd",       "sve",         "sve2",     "i8mm"};
    struct buf text;
    buf_init(&text, TEXT_BYTES);
    for (size_t i = 0; i < COUNT(shown); i++)
        if (cpu_has_flag(shown[i]))
            buf_printf(&text, "%s%s", text.len ? ", " : "", shown[i]);
    json_t *value = json_text(text.len ? text.data : NULL);
    buf_deinit(&text);
    return value;
}

/* Peaks measured earlier; timing a candidate measures them. */
static void put_peaks(json_t *object)
{
    struct peaks peaks;
    char *state = paths_state(NULL);
    bool known = state && peaks_recall(&peaks, state);
    json_put(object, "memory_gb_per_s",
             known ? bytes_text(peaks.bytes_per_s[PEAKS_DRAM], 1e9) : json_null());
    json_put(object, "f32_gflops", known ? bytes_text(peaks.f32_flops, 1e9) : json_null());
    mem_free(state);
}

static json_t *cpu_json(const struct settings *settings, const struct toolchain *toolchain)
{
    const struct optional_int *wanted = &run_settings(settings)->threads;
    struct cpu cpu;
    json_t *object = json_object();
    cpu_detect(&cpu);
    int64_t threads = wanted->given ? wanted->value : cpu.cores;
    json_put(object, "name", json_text(cpu.model));
    json_put(object, "cores", json_integer(cpu.cores));
    json_put(object, "threads", json_integer(threads));
    json_put(object, "simd", simd_json());
    json_put(object, "l1_kib", bytes_text((double)cpu.l1_bytes, KIB));
    json_put(object, "l2_kib", bytes_text((double)cpu.l2_bytes, KIB));
    json_put(object, "l3_mib", bytes_text((double)cpu.l3_bytes, KIB * KIB));
    put_peaks(object);
    json_put(object, "compilers", compilers_json(toolchain));
    return object;
}

/* Null without a GPU. All GPUs of a machine are described as its first. */
static json_t *gpu_json(const struct settings *settings, const struct toolchain *toolchain)
{
    const struct gpu_settings *values = gpu_settings(settings);
    struct gpu_list *list = mem_alloc(sizeof *list);
    json_t *object = json_null();
    const char *driver = values->driver[0] ? values->driver : CUDA_LIBRARY;
    if (gpu_list(list, driver, NULL) == 0) {
        object = gpu_facts_json(&list->items[0]);
        json_put(object, "elsewhere", json_false());
        json_put(object, "compiler", compiler_json(toolchain, COMPILE_CUDA));
        json_put(object, "device_compiler", compiler_json(toolchain, COMPILE_CUBIN));
    }
    mem_free(list);
    return object;
}

/* The judge's search for toolchains. */
static void find_toolchain(const struct settings *settings, struct toolchain *toolchain)
{
    char *root = paths_root();
    char *bundled = mem_printf("%s/toolchain", root);
    char *python = NULL;
    (void)!paths_python(python_settings(settings)->path, &python, NULL);
    toolchain_init(toolchain, file_is_directory(bundled) ? bundled : NULL);
    toolchain_find_nvrtc(toolchain, gpu_settings(settings)->nvrtc, python);
    mem_free(python);
    mem_free(bundled);
    mem_free(root);
}

json_t *device_gpu_elsewhere(json_t *facts)
{
    json_put(facts, "elsewhere", json_true());
    json_put(facts, "compiler", json_null());
    json_put(facts, "device_compiler", json_null());
    return facts;
}

json_t *device_json(json_t *cpu, json_t *gpu)
{
    json_t *object = json_object();
    bool has_gpu = json_is_object(gpu);
    json_put(object, "kind", json_text(has_gpu ? "cuda" : json_is_object(cpu) ? "cpu" : NULL));
    json_put(object, "name",
             json_text(json_string_value(json_object_get(has_gpu ? gpu : cpu, "name"))));
    json_put(object, "cpu", cpu);
    json_put(object, "gpu", gpu);
    return object;
}

json_t *prompt_device(const struct settings *settings, const struct gpu *named)
{
    struct toolchain toolchain;
    find_toolchain(settings, &toolchain);
    json_t *cpu = cpu_json(settings, &toolchain);
    json_t *gpu = named ? device_gpu_elsewhere(gpu_facts_json(named))
                        : gpu_json(settings, &toolchain);
    toolchain_deinit(&toolchain);
    return device_json(cpu, gpu);
}
