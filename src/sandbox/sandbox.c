/* sandbox: what a sandbox is made of. Declared in sandbox.h. */
#include "sandbox/sandbox.h"

#include "base/array.h"
#include "base/file.h"

#include <stdio.h>
#include <string.h>

#define GPUS 16 /* whose files are looked for if sandbox.gpu names none */

/* Not nvidia-uvm-tools, through which others' events could be watched. */
bool sandbox_gpu_device(const struct sandbox *sandbox, uint32_t index,
                        char path[SANDBOX_DEVICE_BYTES])
{
    static const char *const common[] = {SANDBOX_GPU_CONTROL, "/dev/nvidia-uvm"};
    uint32_t others = COUNT(common);
    uint32_t gpus = !sandbox_has_gpu(sandbox->kind) ? 0 : sandbox->gpu < 0 ? GPUS : 1;
    if (gpus == 0 || index >= others + gpus)
        return false;
    if (index < others)
        snprintf(path, SANDBOX_DEVICE_BYTES, "%s", common[index]);
    else
        snprintf(path, SANDBOX_DEVICE_BYTES, "/dev/nvidia%d",
                 sandbox->gpu < 0 ? (int)(index - others) : sandbox->gpu);
    return true;
}

void sandbox_init(struct sandbox *sandbox, enum sandbox_kind kind)
{
    memset(sandbox, 0, sizeof *sandbox);
    sandbox->kind = kind;
    sandbox->gpu = -1;
    sandbox->scratch_bytes = UINT64_C(64) << 20;
    sandbox->processes = 512;
}

bool sandbox_has_gpu(enum sandbox_kind kind)
{
    return kind == SANDBOX_CUDA || kind == SANDBOX_TORCH_CUDA;
}

const char *sandbox_limit_missing(uint32_t layers, enum sandbox_limit limit)
{
    static const char *const names[] = {
#define X(symbol, name) name,
        SANDBOX_LIMITS(X)
#undef X
    };
    bool missing = !(layers >> LAYER_LIMITS & 1) && layers & SANDBOX_LIMIT_FAILED(limit);
    return missing ? names[limit] : NULL;
}

void sandbox_allow(struct sandbox *sandbox, const char *path)
{
    size_t bytes = strlen(path) + 1;
    if (path[0] != '/' || sandbox->paths_bytes + bytes > sizeof sandbox->paths ||
        !file_exists(path))
        return;
    for (const char *at = sandbox->paths; at < sandbox->paths + sandbox->paths_bytes;
         at += strlen(at) + 1)
        if (strcmp(at, path) == 0)
            return;
    memcpy(sandbox->paths + sandbox->paths_bytes, path, bytes);
    sandbox->paths_bytes += (uint32_t)bytes;
}
