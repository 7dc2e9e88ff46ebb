/* device_code: the server that has NVRTC loaded. Declared in context.h. */
#include "judge/context.h"

#include "base/log.h"

#include <unistd.h>

#define NVRTC_READY_MS 60000 /* 140 MB from a disk that has not read them for a while */

int judge_nvrtc(struct judge *judge, struct standby **standby, struct err *err)
{
    const char *argv[] = {judge->side_program, "--nvrtc", judge->toolchain.nvrtc, NULL};
    static const char *const environment[] = {NULL};
    int result = 0;
    *standby = NULL;
    if (!judge->toolchain.nvrtc)
        return 0;
    pthread_mutex_lock(&judge->lock);
    if (!judge->nvrtc)
        result = standby_open(&judge->nvrtc, argv, environment, NVRTC_READY_MS,
                              judge->options.cancelled, err);
    *standby = judge->nvrtc;
    pthread_mutex_unlock(&judge->lock);
    return result;
}

void judge_warm_nvrtc(struct judge *judge)
{
    struct standby *ignored;
    struct err err;
    bool gpu = access(box_gpu_devices[0], F_OK) == 0 || judge->options.settings->gpu_driver[0];
    if (gpu && judge_nvrtc(judge, &ignored, &err) < 0)
        log_write(LOG_LEVEL_DEBUG, "judge", "no NVRTC: %s", err.text);
}
