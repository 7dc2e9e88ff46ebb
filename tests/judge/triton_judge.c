/* triton_judge: what the judge builds for Triton, and nothing else of it, for test_triton.py.
 *
 *   triton_judge DIRECTORY      answers BUILD messages on descriptor 3 until that is closed
 *
 * Builds are kept below DIRECTORY. The Python with Triton is WARPGYM_PYTHON.
 */
#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "judge/build/scratch.h"
#include "judge/build/triton.h"
#include "judge/judge_internal.h"
#include "judge/process/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHANNEL 3
#define REQUEST_BYTES ((size_t)16 << 20)

static const struct {
    const char *kind;
    int (*build)(const struct build_context *context, const json_t *request, struct buf *words,
                 struct err *err);
} kinds[] = {{"ptx", triton_build_ptx}, {"launcher", triton_build_launcher}};

static void must(int result, const struct err *err)
{
    if (result < 0) {
        fprintf(stderr, "triton_judge: %s\n", err->text);
        exit(1);
    }
}

static int build(const struct build_context *context, int request, struct buf *words,
                 struct err *err)
{
    char *text = NULL;
    size_t bytes = 0;
    const char *kind = NULL;
    json_t *object = NULL;
    int result = file_read_fd(request, "the request", REQUEST_BYTES, &text, &bytes, err);
    if (result == 0)
        result = json_parse("the request", text, bytes, &object, err);
    if (result == 0)
        result = json_get_string(object, "kind", &kind, err);
    size_t i = 0;
    while (result == 0 && i < COUNT(kinds) && strcmp(kind, kinds[i].kind) != 0)
        i++;
    if (result == 0)
        result = i < COUNT(kinds)
                     ? kinds[i].build(context, object, words, err)
                     : err_set(err, ERR_INPUT, "nothing of the kind '%.40s' is built", kind);
    json_decref(object);
    mem_free(text);
    return result;
}

static void serve(const struct build_context *context)
{
    union wire_message *message = mem_alloc(sizeof *message);
    int descriptors[WIRE_DESCRIPTORS];
    size_t bytes;
    struct err err = {0};
    while (wire_receive(CHANNEL, message, &bytes, descriptors, &err) == 0) {
        struct wire_built built = {.type = WIRE_BUILT};
        struct buf words;
        buf_init(&words, sizeof built.text - 1);
        int artifact = build(context, descriptors[0], &words, &err);
        built.failure = artifact >= 0 ? FAILED_NONE : FAILED_COMPILE;
        if (built.failure)
            snprintf(built.text, sizeof built.text, "%s", words.len ? words.data : err.text);
        buf_deinit(&words);
        must(wire_send(CHANNEL, &built, sizeof built, &artifact, artifact >= 0, &err), &err);
        if (artifact >= 0)
            close(artifact);
        for (int i = 0; i < WIRE_DESCRIPTORS; i++)
            if (descriptors[i] >= 0)
                close(descriptors[i]);
    }
    mem_free(message);
}

int main(int count, char **arguments)
{
    struct settings settings;
    struct judge *judge;
    struct standby *standby;
    struct err err = {0};
    char cache[512];
    if (count != 2)
        return 2;
    settings_init(&settings);
    snprintf(cache, sizeof cache, "cache.directory=%s", arguments[1]);
    must(settings_assign(&settings, cache, &err), &err);
    must(judge_open(&judge, &(struct judge_options){.settings = &settings}, &err), &err);
    must(spawner_standby(&judge->spawner, SANDBOX_NATIVE, &standby, &err), &err);
    struct build_context context = {.tools = &judge->tools, .settings = &settings};
    sandbox_runner_init(&context.runner, standby, true, NULL, NULL);
    serve(&context);
    judge_close(judge);
    settings_deinit(&settings);
    return 0;
}
