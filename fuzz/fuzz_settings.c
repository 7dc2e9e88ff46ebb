/* A settings file that is taken must show as one that reads back to the same values. Input that
 * begins with '=' is a command line's "key=value" instead, with '@' an environment variable. */
#include "base/settings.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libfyaml 0.7.12 loses 2 KiB or more for a scalar of many quoted quotes. */
const char *__lsan_default_suppressions(void)
{
    return "leak:libfyaml\n";
}

static void round_trip(const struct settings *settings)
{
    struct settings again;
    struct buf one;
    struct err err;
    settings_init(&again);
    buf_init(&one, (size_t)1 << 20);
    settings_show(settings, &one);
    if (settings_read_yaml(&again, "again", one.data, one.len, &err) < 0)
        abort();
    /* Hidden values apart, and where the values come from. */
    if (settings_difference(settings, &again, 0) < settings_count())
        abort();
    buf_deinit(&one);
    settings_deinit(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct settings settings;
    struct err err = {0};
    char *text = mem_copy(data, size);
    settings_init(&settings);
    int result;
    if (text[0] == '=') {
        result = settings_assign(&settings, text + 1, &err);
    } else if (text[0] == '@') {
        char *const environment[] = {text + 1, NULL};
        result = settings_read_environment(&settings, environment, &err);
    } else {
        result = settings_read_yaml(&settings, "input", text, size, &err);
    }
    if (result < 0 && err.text[0] == '\0')
        abort();
    if (result == 0)
        round_trip(&settings);
    settings_deinit(&settings);
    mem_free(text);
    return 0;
}
