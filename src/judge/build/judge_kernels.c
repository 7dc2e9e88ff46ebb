#include "judge/build/judge_kernels.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "judge/build/native_build.h"

#include <string.h>

#define TICK_MS 100 /* for a look at whether it is still wanted */

/* Compiled for the GPU at hand; the caller's, NULL with an error. */
static char *compile_kernels(const struct build_context *context, const char *name,
                             const char *source, struct err *err)
{
    struct artifact artifact = {0};
    char *image = NULL;
    size_t bytes;
    int result = native_build(context, NATIVE_TRUSTED, COMPILE_CUBIN, name, source, strlen(source),
                              &artifact, err);
    if (result == 0 && !artifact.ok)
        result = err_set(err, artifact.timed_out ? ERR_TIMEOUT : ERR_INTERNAL, "%.*s",
                         (int)strcspn(artifact.diagnostics, "\n"), artifact.diagnostics);
    if (result == 0)
        (void)!file_read(artifact.path, LIMIT_ARTIFACT_BYTES, &image, &bytes, err);
    artifact_deinit(&artifact);
    return image;
}

/* Another session is not cancelled with this one, and finds the memory that this one lacked: it
 * tries at once. */
static void keep_failure(struct gpu_unit_failure *kept, const char *effect, const struct err *err)
{
    if (err->code == ERR_CANCELLED || err->code == ERR_LIMIT)
        return;
    if (strcmp(kept->err.text, err->text) != 0)
        log_write(LOG_LEVEL_WARN, "judge", "%s: %s", effect, err->text);
    kept->err = *err;
    kept->until_ns = clock_now_ns() + JUDGE_KERNELS_AGAIN_MS * INT64_C(1000000);
}

/* With the lock. */
static int make_work(const struct build_context *context, struct gpu_unit *unit, struct err *err)
{
    if (unit->work.gpu == context->gpu)
        return 0;
    if (clock_now_ns() < unit->no_work.until_ns) {
        *err = unit->no_work.err;
        return err->code;
    }
    char *image = compile_kernels(context, "gpu_work.cu", gpu_work_source, err);
    int result = image ? gpu_work_open(&unit->work, context->gpu, image, err) : err->code;
    mem_free(image);
    if (result < 0)
        keep_failure(&unit->no_work, "comparing on the host", err);
    return result;
}

/* With the lock; the peaks themselves are of the session that has the GPU alone. */
static void make_peaks_image(const struct build_context *context, struct gpu_unit *unit)
{
    struct gpu_peaks known;
    struct err err;
    if (unit->have_peaks || unit->peaks_image || clock_now_ns() < unit->no_peaks.until_ns ||
        gpu_peaks_recall(&known, context->gpu, context->tools->installation->state))
        return;
    unit->peaks_image = compile_kernels(context, "gpu_peaks.cu", gpu_peaks_source, &err);
    if (!unit->peaks_image)
        keep_failure(&unit->no_peaks, "the GPU's peaks are not measured", &err);
}

/* Another session may compile for minutes. */
static int take_lock(const struct build_context *context, struct err *err)
{
    const _Atomic int *cancelled = context->runner.cancelled;
    for (;;) {
        struct timespec until = clock_in_ms(TICK_MS);
        if (pthread_mutex_timedlock(&context->tools->kernels_lock, &until) == 0)
            return 0;
        if (cancelled && *cancelled)
            return err_set(err, ERR_CANCELLED, "cancelled");
    }
}

const struct gpu_work *judge_kernels_get(const struct build_context *context, struct gpu_unit *unit,
                                         struct err *err)
{
    if (take_lock(context, err) < 0)
        return NULL;
    int result = make_work(context, unit, err);
    if (result == 0)
        make_peaks_image(context, unit);
    pthread_mutex_unlock(&context->tools->kernels_lock);
    return result == 0 ? &unit->work : NULL;
}
