#include "device/gpu_facts.h"

#include "base/array.h"
#include "base/json.h"
#include "base/suggest.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define KIB 1024.0
#define MIB (KIB * KIB)
#define GIB (MIB * KIB)
#define GIGA 1e9
#define TERA 1e12
#define MEGA 1e6

static const struct gpu_architecture architectures[] = {
    {70, 128, 64, 1024, "Volta", "fp16", "mma.sync", false, false, false},
    {72, 128, 64, 1024, "Volta", "fp16", "mma.sync", false, false, false},
    {75, 128, 4, 1024, "Turing", "fp16, int8", "mma.sync", false, false, false},
    {80, 128, 128, 2048, "Ampere", "fp16, bf16, TF32, fp64, int8", "mma.sync", true, false, false},
    {86, 256, 4, 1024, "Ampere", "fp16, bf16, TF32, int8", "mma.sync", true, false, false},
    {87, 256, 4, 2048, "Ampere", "fp16, bf16, TF32, int8", "mma.sync", true, false, false},
    {89, 256, 4, 1024, "Ada", "fp16, bf16, TF32, fp8, int8", "mma.sync", true, false, false},
    {90, 256, 256, 4096, "Hopper", "fp16, bf16, TF32, fp64, fp8, int8", "wgmma", true, true, true},
    {100, 256, 256, 8192, "Blackwell", "fp16, bf16, TF32, fp64, fp8, fp4", "tcgen05", true, true,
     true},
    {101, 256, 256, 8192, "Blackwell", "fp16, bf16, TF32, fp8, fp4", "tcgen05", true, true, true},
    {103, 256, 256, 8192, "Blackwell", "fp16, bf16, TF32, fp8, fp4", "tcgen05", true, true, true},
    {110, 256, 256, 8192, "Blackwell", "fp16, bf16, TF32, fp8, fp4", "tcgen05", true, true, true},
    {120, 256, 4, 1024, "Blackwell", "fp16, bf16, TF32, fp8, fp4", "mma.sync", true, true, false},
    {121, 256, 4, 1024, "Blackwell", "fp16, bf16, TF32, fp8, fp4", "mma.sync", true, true, false},
};

/* NVIDIA's data sheets: memory in GB, which the driver counts as GiB but for what ECC takes, and
 * GB/s, L2 in MB, shared memory of a multiprocessor in KiB, the boost clock in MHz. */
static const struct {
    const char *name, *title;
    int capability, multiprocessors;
    double memory_gib, gb_per_s, l2_mib, shared_kib, clock_mhz;
} models[] = {
    {"V100", "NVIDIA V100", 70, 80, 32, 900, 6, 96, 1530},
    {"T4", "NVIDIA T4", 75, 40, 16, 320, 4, 64, 1590},
    {"A100", "NVIDIA A100 40GB", 80, 108, 40, 1555, 40, 164, 1410},
    {"A100-80GB", "NVIDIA A100 80GB", 80, 108, 80, 2039, 40, 164, 1410},
    {"A10", "NVIDIA A10", 86, 72, 24, 600, 6, 100, 1695},
    {"A10G", "NVIDIA A10G", 86, 80, 24, 600, 6, 100, 1710},
    {"A6000", "NVIDIA RTX A6000", 86, 84, 48, 768, 6, 100, 1800},
    {"RTX3090", "NVIDIA GeForce RTX 3090", 86, 82, 24, 936, 6, 100, 1695},
    {"L4", "NVIDIA L4", 89, 58, 24, 300, 48, 100, 2040},
    {"L40S", "NVIDIA L40S", 89, 142, 48, 864, 96, 100, 2520},
    {"RTX4090", "NVIDIA GeForce RTX 4090", 89, 128, 24, 1008, 72, 100, 2520},
    {"H100", "NVIDIA H100 SXM", 90, 132, 80, 3350, 50, 228, 1980},
    {"H100-PCIe", "NVIDIA H100 PCIe", 90, 114, 80, 2039, 50, 228, 1755},
    {"H200", "NVIDIA H200", 90, 132, 141, 4800, 50, 228, 1980},
    {"B200", "NVIDIA B200", 100, 148, 180, 8000, 126, 228, 1965},
    {"RTX5090", "NVIDIA GeForce RTX 5090", 120, 170, 32, 1792, 96, 100, 2407},
};

const struct gpu_architecture *gpu_architecture_of(const struct gpu *gpu)
{
    for (size_t i = 0; i < COUNT(architectures); i++)
        if (architectures[i].capability == gpu->major * 10 + gpu->minor)
            return &architectures[i];
    return NULL;
}

int gpu_model_find(const char *name, struct gpu *gpu, struct err *err)
{
    const char *names[COUNT(models)];
    for (size_t i = 0; i < COUNT(models); i++) {
        names[i] = models[i].name;
        if (strcasecmp(names[i], name) != 0)
            continue;
        *gpu = (struct gpu){
            .major = models[i].capability / 10,
            .minor = models[i].capability % 10,
            .multiprocessors = models[i].multiprocessors,
            .each.shared_bytes = (int)(models[i].shared_kib * KIB),
            .memory_bytes = (uint64_t)(models[i].memory_gib * GIB),
            .l2_bytes = (uint64_t)(models[i].l2_mib * MIB),
            .clock_mhz = models[i].clock_mhz,
            .memory_bytes_per_s = models[i].gb_per_s * GIGA,
        };
        snprintf(gpu->name, sizeof gpu->name, "%s", models[i].title);
        return 0;
    }
    return err_unknown(err, "GPU", name, names, COUNT(models));
}

static json_t *known(double value, double unit)
{
    return value > 0 ? json_number(value / unit) : json_null();
}

/* TF32 runs at half the rate of 16 bits, from Ampere on. */
static void put_rates(json_t *object, const struct gpu *gpu, const struct gpu_architecture *row)
{
    double clocks = gpu->multiprocessors * gpu->clock_mhz * MEGA;
    double f32 = row ? row->f32 * clocks : 0, f16 = row ? row->f16 * clocks : 0;
    bool balanced = f32 > 0 && gpu->memory_bytes_per_s > 0;
    json_put(object, "f32_tflops", known(f32, TERA));
    json_put(object, "f64_tflops", known(row ? row->f64 * clocks : 0, TERA));
    json_put(object, "tf32_tflops", known(row && row->async_copy ? f16 / 2 : 0, TERA));
    json_put(object, "f16_tflops", known(f16, TERA));
    json_put(object, "flops_per_byte",
             balanced ? json_number(f32 / gpu->memory_bytes_per_s) : json_null());
}

json_t *gpu_facts_json(const struct gpu *gpu)
{
    const struct gpu_architecture *row = gpu_architecture_of(gpu);
    char capability[32];
    json_t *object = json_object();
    snprintf(capability, sizeof capability, "%d.%d", gpu->major, gpu->minor);
    json_put(object, "name", json_text(gpu->name));
    json_put(object, "compute_capability", json_text(capability));
    json_put(object, "generation", json_text(row ? row->generation : NULL));
    json_put(object, "multiprocessors", json_integer(gpu->multiprocessors));
    json_put(object, "memory_gib", known((double)gpu->memory_bytes, GIB));
    json_put(object, "memory_gb_per_s", known(gpu->memory_bytes_per_s, GIGA));
    json_put(object, "l2_mib", known((double)gpu->l2_bytes, MIB));
    json_put(object, "shared_kib", known(gpu->each.shared_bytes, KIB));
    json_put(object, "clock_mhz", known(gpu->clock_mhz, 1));
    put_rates(object, gpu, row);
    json_put(object, "tensor_types", json_text(row ? row->tensor_types : NULL));
    json_put(object, "tensor_ptx", json_text(row ? row->tensor_ptx : NULL));
    json_put(object, "async_copy", json_boolean(row && row->async_copy));
    json_put(object, "bulk_copy", json_boolean(row && row->bulk_copy));
    json_put(object, "clusters", json_boolean(row && row->clusters));
    return object;
}

json_t *gpu_facts_read(const json_t *facts)
{
    json_t *object = gpu_facts_json(&(struct gpu){.name = "text", .clock_mhz = 1});
    const char *key;
    json_t *like;
    static const char *const texts[] = {"name", "compute_capability", "generation", "tensor_types",
                                        "tensor_ptx"};
    if (!json_text_is_plain(json_object_get(facts, "name")) ||
        !json_text_is_plain(json_object_get(facts, "compute_capability"))) {
        json_decref(object);
        return NULL;
    }
    json_object_foreach(object, key, like)
    {
        json_t *value = json_object_get(facts, key);
        bool fits = json_is_boolean(like) ? json_is_boolean(value)
                                          : json_is_number(value) && json_number_value(value) > 0;
        for (size_t i = 0; i < COUNT(texts); i++)
            if (strcmp(key, texts[i]) == 0)
                fits = json_text_is_plain(value);
        json_object_set(object, key, fits ? value : json_null());
    }
    return object;
}
