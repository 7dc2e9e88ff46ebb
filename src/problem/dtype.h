/* dtype: the element types of tensors. Names as in problem.yaml; torch and C names beside them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(symbol, name, bytes, C spelling in a signature, torch name, is floating); the order is wire
 * format. */
#define DTYPES(X)                                                                                  \
    X(DTYPE_F16, "f16", 2, "_Float16", "float16", true)                                            \
    X(DTYPE_BF16, "bf16", 2, "uint16_t", "bfloat16", true)                                         \
    X(DTYPE_F32, "f32", 4, "float", "float32", true)                                               \
    X(DTYPE_F64, "f64", 8, "double", "float64", true)                                              \
    X(DTYPE_I8, "i8", 1, "int8_t", "int8", false)                                                  \
    X(DTYPE_U8, "u8", 1, "uint8_t", "uint8", false)                                                \
    X(DTYPE_I16, "i16", 2, "int16_t", "int16", false)                                              \
    X(DTYPE_I32, "i32", 4, "int32_t", "int32", false)                                              \
    X(DTYPE_I64, "i64", 8, "int64_t", "int64", false)                                              \
    X(DTYPE_U32, "u32", 4, "uint32_t", "uint32", false)                                            \
    X(DTYPE_U64, "u64", 8, "uint64_t", "uint64", false)                                            \
    X(DTYPE_BOOL, "bool", 1, "_Bool", "bool", false)

enum dtype {
#define X(symbol, name, bytes, c_name, torch_name, floating) symbol,
    DTYPES(X)
#undef X
        DTYPE_COUNT
};

struct dtype_facts {
    const char *name;
    size_t bytes;
    const char *c_name;
    const char *torch_name;
    bool floating;
};

/* NULL for a value outside the enum (it may have come over a wire). */
const struct dtype_facts *dtype_facts(uint32_t type);

/* Element `index` of an array, as a double. i64/u64 beyond 2^53 lose low bits: compare those as
 * integers. */
double dtype_load(uint32_t type, const void *array, size_t index);
/* Stores with the type's rounding (to nearest even); integers saturate. */
void dtype_store(uint32_t type, void *array, size_t index, double value);
