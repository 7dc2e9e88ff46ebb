#include "judge/build/judge_kernels.h"

#include "base/file.h"
#include "base/log.h"
#include "judge/build/native_build.h"

#include <string.h>

/* Compiled for the GPU at hand; the caller's, NULL with an error. */
static char *compile_kernels(const struct build_context *context, const char *name,
                             const char *source, struct err *err)
{
    struct artifact artifact = {0};
    char *image = NULL;
    size_t bytes;
    int result = native_build(context, COMPILE_CUBIN, name, source, strlen(source), &artifact, err);
    if (result == 0 && !artifact.ok)
        result = err_set(err, ERR_INTERNAL, "%.400s", artifact.diagnostics);
    if (result == 0)
        (void)!file_read(artifact.path, LIMIT_ARTIFACT_BYTES, &image, &bytes, err);
    artifact_deinit(&artifact);
    return image;
}

/* With the lock. */
static void compile_once(const struct build_context *context, struct gpu_unit *unit)
{
    struct err err = {0};
    if (unit->work_tried)
        return;
    unit->work_tried = true;
    char *image = compile_kernels(context, "gpu_work.cu", gpu_work_source, &err);
    if (!image || gpu_work_open(&unit->work, context->gpu, image, &err) < 0)
        log_write(LOG_LEVEL_WARN, "judge", "comparing on the host: %s", err.text);
    mem_free(image);
    if (!unit->have_peaks &&
        !gpu_peaks_recall(&unit->peaks, context->gpu, context->tools->installation->state))
        unit->peaks_image = compile_kernels(context, "gpu_peaks.cu", gpu_peaks_source, &err);
}

const struct gpu_work *judge_kernels_get(const struct build_context *context, struct gpu_unit *unit)
{
    if (!unit)
        return NULL;
    pthread_mutex_lock(&context->tools->kernels_lock);
    compile_once(context, unit);
    pthread_mutex_unlock(&context->tools->kernels_lock);
    return unit->work.gpu == context->gpu ? &unit->work : NULL;
}
