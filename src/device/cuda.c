#include "device/cuda.h"

#include "base/array.h"
#include "device/library.h"

#include <stdio.h>
#include <string.h>

static const struct library_function functions[] = {
#define X(field, symbol, arguments) {symbol, offsetof(struct cuda, field), false},
    CUDA_FUNCTIONS(X)
#undef X
#define X(field, symbol, arguments) {symbol, offsetof(struct cuda, field), true},
        CUDA_LATER_FUNCTIONS(X)
#undef X
};

static int init_driver(struct cuda *cuda, struct err *err)
{
    cuda_result result = cuda->init(0);
    if (result == CUDA_ERROR_NO_DEVICE)
        return err_set(err, ERR_MISSING,
                       "the NVIDIA driver is here, but no GPU that it may use "
                       "(CUDA_VISIBLE_DEVICES?)");
    if (result == 0)
        result = cuda->driver_version(&cuda->version);
    int failed = cuda_check(cuda, result, "cannot start the NVIDIA driver", err);
    if (failed < 0)
        err->code = failed = ERR_UNSUPPORTED;
    return failed;
}

int cuda_open(struct cuda *cuda, const char *path, struct err *err)
{
    const char *const names[] = {path ? path : CUDA_LIBRARY, NULL};
    memset(cuda, 0, sizeof *cuda);
    int result = library_open(&cuda->library, names, functions, COUNT(functions), cuda, err);
    if (result == 0)
        result = init_driver(cuda, err);
    if (result < 0)
        cuda_close(cuda);
    return result;
}

void cuda_close(struct cuda *cuda)
{
    library_close(&cuda->library);
}

/* Bytes 4, 6, 8 and 10 begin a group. */
void cuda_uuid_text(const struct cuda_uuid *uuid, char text[CUDA_UUID_BYTES])
{
    size_t used = (size_t)snprintf(text, CUDA_UUID_BYTES, "GPU-");
    for (int i = 0; i < 16; i++)
        used += (size_t)snprintf(text + used, CUDA_UUID_BYTES - used, "%s%02x",
                                 i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid->bytes[i]);
}

int cuda_check(const struct cuda *cuda, cuda_result result, const char *what, struct err *err)
{
    const char *name = NULL;
    const char *text = NULL;
    if (result == 0)
        return 0;
    if (cuda->error_name(result, &name) != 0 || !name)
        name = "an error that it has no name for";
    if (cuda->error_string(result, &text) != 0 || !text)
        text = "no description";
    return err_set(err, result == CUDA_ERROR_OUT_OF_MEMORY ? ERR_LIMIT : ERR_IO, "%s: %s (%s, %d)",
                   what, text, name, result);
}
