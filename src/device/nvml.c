#include "device/nvml.h"

#include "base/array.h"
#include "device/library.h"

#include <string.h>

#define X(field, symbol, arguments) {symbol, offsetof(struct nvml, field), false},
static const struct library_function functions[] = {NVML_FUNCTIONS(X)};
static const struct library_function questions[] = {NVML_QUESTIONS(X)};
#undef X

static void read_version(nvml_result (*ask)(char *text, unsigned bytes), char *text)
{
    if (!ask || ask(text, NVML_TEXT_BYTES) != 0)
        text[0] = '\0';
    text[NVML_TEXT_BYTES - 1] = '\0';
}

int nvml_open(struct nvml *nvml, const char *path, struct err *err)
{
    const char *const names[] = {path ? path : NVML_LIBRARY, NULL};
    memset(nvml, 0, sizeof *nvml);
    int result = library_open(&nvml->library, names, functions, COUNT(functions), nvml, err);
    if (result < 0)
        return result;
    library_find(nvml->library, questions, COUNT(questions), nvml);
    nvml_result status = nvml->init();
    if (status != 0) {
        library_close(&nvml->library);
        return err_set(err, ERR_UNSUPPORTED,
                       "NVIDIA's management library does not start (its error %d): is its version "
                       "that of the driver?",
                       status);
    }
    nvml->open = true;
    read_version(nvml->version, nvml->text);
    read_version(nvml->driver_version, nvml->driver_text);
    return 0;
}

void nvml_close(struct nvml *nvml)
{
    if (nvml->open)
        nvml->shutdown();
    nvml->open = false;
    library_close(&nvml->library);
}
