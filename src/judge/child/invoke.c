#include "judge/child/invoke.h"

#include <string.h>

/* libffi knows no half: a _Float16 travels in the low bits of the register that a float would take
 * (x86-64 and AArch64 ABIs), and the slot has eight bytes for every scalar. */
static ffi_type *scalar_type(uint32_t dtype)
{
    static ffi_type *const types[DTYPE_COUNT] = {
        [DTYPE_F16] = &ffi_type_float,  [DTYPE_BF16] = &ffi_type_uint16,
        [DTYPE_F32] = &ffi_type_float,  [DTYPE_F64] = &ffi_type_double,
        [DTYPE_I8] = &ffi_type_sint8,   [DTYPE_U8] = &ffi_type_uint8,
        [DTYPE_I16] = &ffi_type_sint16, [DTYPE_I32] = &ffi_type_sint32,
        [DTYPE_I64] = &ffi_type_sint64, [DTYPE_U32] = &ffi_type_uint32,
        [DTYPE_U64] = &ffi_type_uint64, [DTYPE_BOOL] = &ffi_type_uint8,
    };
    return dtype < DTYPE_COUNT ? types[dtype] : NULL;
}

int invoke_init(struct invoke *invoke, void *function, const struct layout *layout, void *slot,
                void *arrays)
{
    memset(invoke, 0, sizeof *invoke);
    invoke->function = function;
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct layout_argument *argument = &layout->arguments[i];
        if (!layout_is_array(argument)) {
            invoke->types[i] = scalar_type(argument->dtype);
            invoke->values[i] = (char *)slot + argument->offset;
        } else {
            invoke->types[i] = &ffi_type_pointer;
            invoke->pointers[i] = (char *)arrays + argument->offset;
            invoke->values[i] = &invoke->pointers[i];
        }
        if (!invoke->types[i])
            return -1;
    }
    ffi_status status = ffi_prep_cif(&invoke->cif, FFI_DEFAULT_ABI, layout->count, &ffi_type_void,
                                     invoke->types);
    return status == FFI_OK ? 0 : -1;
}

void invoke(struct invoke *invoke)
{
    ffi_call(&invoke->cif, FFI_FN(invoke->function), NULL, invoke->values);
}
