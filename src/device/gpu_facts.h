/* gpu_facts: what follows from a GPU's model: rates of arithmetic, generation, instructions; and
 * known models by name. Tables, no device is touched. Threads: pure.
 */
#pragma once

#include "device/gpu.h"

#include <jansson.h>

/* What one compute capability can do. Rates are operations of one multiprocessor in one clock, a
 * multiply-add being two: NVIDIA's architecture white papers (Volta to Blackwell), and for the
 * smaller ones peak rate / clock / multiprocessors of the data sheets. Dense matrices; f64 with
 * matrix units where they do it. */
struct gpu_architecture {
    int capability; /* 90 is 9.0 */
    double f32, f64, f16;
    const char *generation;   /* "Hopper" */
    const char *tensor_types; /* that matrix units multiply: "fp16, bf16" */
    const char *tensor_ptx;   /* the instruction that uses them fully: "wgmma" */
    bool async_copy;          /* cp.async: from global to shared memory */
    bool bulk_copy;           /* TMA: cp.async.bulk.tensor */
    bool clusters;            /* of blocks that read each other's shared memory */
};

/* NULL: the table lacks it. */
const struct gpu_architecture *gpu_architecture_of(const struct gpu *gpu);

/* A known model by its short name, as "H100"; ERR_INPUT with the nearest one. Data sheets'
 * figures; no ordinal and no UUID. */
NODISCARD int gpu_model_find(const char *name, struct gpu *gpu, struct err *err);

/* For people and prompts, a new reference: name, compute_capability ("9.0"), generation,
 * multiprocessors, memory_gib, memory_gb_per_s, l2_mib, shared_kib, clock_mhz; by clock and rates
 * f32_tflops, f64_tflops, tf32_tflops, f16_tflops; flops_per_byte (of f32, beyond which memory is
 * not the bound); tensor_types, tensor_ptx, async_copy, bulk_copy, clusters. Null: not known. */
json_t *gpu_facts_json(const struct gpu *gpu);
/* The same out of another process's text: what is no number or short printable text where it
 * should be becomes null. NULL: it has no name or no compute capability. */
json_t *gpu_facts_read(const json_t *facts);
