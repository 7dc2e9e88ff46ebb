#include "rl/run/hparams.h"

#include "base/array.h"
#include "base/mem.h"
#include "rl/run/settings.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_BYTES 1000

static const char *const sections[] = {"train.", "gym.", "policy.", "lm.", "check."};
static const char *const secrets[] = {"policy.token", "policy.url"};

static bool is_told(const char *path)
{
    for (size_t i = 0; i < COUNT(secrets); i++)
        if (strcmp(path, secrets[i]) == 0)
            return false;
    for (size_t i = 0; i < COUNT(sections); i++)
        if (strncmp(path, sections[i], strlen(sections[i])) == 0)
            return true;
    return false;
}

static char *name_of(const char *path)
{
    char *name = mem_strdup(path);
    for (char *at = name; *at; at++)
        if (*at == '.')
            *at = '/';
    return name;
}

/* A number, or the text without its quotes. */
static void read_value(const struct settings *settings, size_t index, struct events_hparam *hparam)
{
    struct buf text;
    char *end;
    buf_init(&text, VALUE_BYTES);
    settings_show_value(settings, index, &text);
    hparam->value = strtod(text.data, &end);
    if (end != text.data && *end == '\0') {
        buf_deinit(&text);
        return;
    }
    hparam->text = run_settings_plain(text.data);
    buf_deinit(&text);
}

int run_hparams(struct events *events, const char *directory, const struct settings *settings,
                struct err *err)
{
    const char *slash = strrchr(directory, '/');
    struct events_hparam *hparams = mem_alloc(SETTINGS_COUNT * sizeof *hparams);
    size_t count = 0;
    for (size_t i = 0; i < SETTINGS_COUNT; i++)
        if (is_told(settings_path(i))) {
            hparams[count].name = name_of(settings_path(i));
            read_value(settings, i, &hparams[count++]);
        }
    int result = events_hparams(events, slash && slash[1] ? slash + 1 : directory, hparams, count,
                                err);
    for (size_t i = 0; i < count; i++) {
        mem_free((char *)hparams[i].name);
        mem_free((char *)hparams[i].text);
    }
    mem_free(hparams);
    return result;
}
