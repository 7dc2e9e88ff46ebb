#include "device/nvrtc.h"

#include "base/array.h"
#include "base/mem.h"
#include "device/library.h"

#include <string.h>

enum { NVRTC_ERROR_COMPILATION = 6 };

static const struct library_function functions[] = {
#define X(field, symbol, returned, arguments) {symbol, offsetof(struct nvrtc, field), false},
    NVRTC_FUNCTIONS(X)
#undef X
};

int nvrtc_open(struct nvrtc *nvrtc, const char *path, struct err *err)
{
    const char *const names[] = {path, NULL};
    memset(nvrtc, 0, sizeof *nvrtc);
    int result = library_open(&nvrtc->library, names, functions, COUNT(functions), nvrtc, err);
    if (result == 0 && nvrtc->version(&nvrtc->major, &nvrtc->minor) != 0)
        result = err_set(err, ERR_UNSUPPORTED, "%s does not report its version", path);
    if (result < 0)
        nvrtc_close(nvrtc);
    return result;
}

void nvrtc_close(struct nvrtc *nvrtc)
{
    library_close(&nvrtc->library);
}

static int header_count(void)
{
    int count = 0;
    while (nvrtc_header_names[count])
        count++;
    return count;
}

/* NVRTC's sizes count the NUL behind the log. */
static nvrtc_result take_log(const struct nvrtc *nvrtc, nvrtc_program program,
                             struct nvrtc_output *output)
{
    size_t bytes = 0;
    nvrtc_result result = nvrtc->log_size(program, &bytes);
    output->log = mem_alloc(bytes + 1);
    return result == 0 && bytes > 0 ? nvrtc->log(program, output->log) : result;
}

static nvrtc_result take_cubin(const struct nvrtc *nvrtc, nvrtc_program program,
                               struct nvrtc_output *output)
{
    nvrtc_result result = nvrtc->cubin_size(program, &output->cubin_bytes);
    if (result != 0)
        return result;
    output->cubin = mem_alloc(output->cubin_bytes + 1);
    result = nvrtc->cubin(program, output->cubin);
    output->ok = result == 0 && output->cubin_bytes > 0;
    return result;
}

int nvrtc_compile(const struct nvrtc *nvrtc, const char *name, const char *source,
                  const char *const *options, size_t option_count, struct nvrtc_output *output,
                  struct err *err)
{
    nvrtc_program program = NULL;
    *output = (struct nvrtc_output){0};
    nvrtc_result result = nvrtc->create(&program, source, name, header_count(), nvrtc_headers,
                                        nvrtc_header_names);
    if (result == 0) {
        nvrtc_result compiled = nvrtc->compile(program, (int)option_count, options);
        result = take_log(nvrtc, program, output);
        if (result == 0 && compiled != NVRTC_ERROR_COMPILATION)
            result = compiled ? compiled : take_cubin(nvrtc, program, output);
        nvrtc->destroy(&program);
    }
    if (result == 0)
        return 0;
    int failed = err_set(err, ERR_IO, "NVRTC %d.%d failed: %s%s%.200s", nvrtc->major, nvrtc->minor,
                         nvrtc->error_string(result), output->log && *output->log ? ": " : "",
                         output->log ? output->log : "");
    nvrtc_output_deinit(output);
    return failed;
}

void nvrtc_output_deinit(struct nvrtc_output *output)
{
    mem_free(output->cubin);
    mem_free(output->log);
    *output = (struct nvrtc_output){0};
}
