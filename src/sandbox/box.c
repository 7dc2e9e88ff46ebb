/* box: what a box is made of. Declared in box.h. */
#include "sandbox/box.h"

#include "base/file.h"

#include <stdio.h>
#include <string.h>

#define GPUS 16 /* whose files are looked for where nobody says which one is meant */

/* Not nvidia-uvm-tools, through which others' events could be watched. */
bool box_gpu_device(const struct box *box, uint32_t index, char path[BOX_DEVICE_BYTES])
{
    static const char *const common[] = {BOX_GPU_CONTROL, "/dev/nvidia-uvm"};
    uint32_t others = sizeof common / sizeof *common;
    uint32_t gpus = !box_has_gpu(box) ? 0 : box->gpu < 0 ? GPUS : 1;
    if (gpus == 0 || index >= others + gpus)
        return false;
    if (index < others)
        snprintf(path, BOX_DEVICE_BYTES, "%s", common[index]);
    else
        snprintf(path, BOX_DEVICE_BYTES, "/dev/nvidia%d",
                 box->gpu < 0 ? (int)(index - others) : box->gpu);
    return true;
}

void box_init(struct box *box, enum box_kind kind)
{
    memset(box, 0, sizeof *box);
    box->kind = kind;
    box->gpu = -1;
    box->scratch_bytes = UINT64_C(64) << 20;
    box->processes = 512;
}

bool box_has_gpu(const struct box *box)
{
    return box->kind == BOX_CUDA || box->kind == BOX_TORCH_CUDA;
}

void box_allow(struct box *box, const char *path)
{
    size_t bytes = strlen(path) + 1;
    if (path[0] != '/' || box->paths_bytes + bytes > sizeof box->paths || !file_exists(path))
        return;
    for (const char *at = box->paths; at < box->paths + box->paths_bytes; at += strlen(at) + 1)
        if (strcmp(at, path) == 0)
            return;
    memcpy(box->paths + box->paths_bytes, path, bytes);
    box->paths_bytes += (uint32_t)bytes;
}
