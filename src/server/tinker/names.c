#include "server/tinker/names.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES 120

const char tinker_training_kind[] = "weights", tinker_sampler_kind[] = "sampler_weights",
           tinker_external_kind[] = "external_weights";

bool tinker_is_plain(const char *text)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.:";
    const size_t count = strlen(text);
    return count > 0 && count <= NAME_BYTES && strspn(text, plain) == count && text[0] != '.';
}

void tinker_names_each(const char *path, bool json, void (*one)(void *context, const char *name),
                       void *context)
{
    DIR *directory = opendir(path);
    if (!directory)
        return;
    for (struct dirent *entry; (entry = readdir(directory));) {
        char name[TINKER_ID_BYTES];
        const size_t count = strlen(entry->d_name);
        const bool ends = count > 5 && strcmp(entry->d_name + count - 5, ".json") == 0;
        if (ends != json || count >= sizeof name)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(json ? count - 5 : count), entry->d_name);
        if (tinker_is_plain(name))
            one(context, name);
    }
    closedir(directory);
}

/* Names that a checkpoint in the making, its past and its record have. */
static bool has_own_suffix(const char *name)
{
    static const char *const suffixes[] = {".saving", ".previous", ".json"};
    const size_t count = strlen(name);
    for (size_t i = 0; i < 3; i++) {
        const size_t length = strlen(suffixes[i]);
        if (count >= length && strcmp(name + count - length, suffixes[i]) == 0)
            return true;
    }
    return false;
}

static bool saved_set(struct tinker_saved *saved, const char *run, const char *kind,
                      const char *name)
{
    if (!tinker_is_plain(run) || !tinker_is_plain(name) || has_own_suffix(name) ||
        (strcmp(kind, tinker_training_kind) != 0 && strcmp(kind, tinker_sampler_kind) != 0 &&
         strcmp(kind, tinker_external_kind) != 0))
        return false;
    snprintf(saved->run, sizeof saved->run, "%s", run);
    snprintf(saved->kind, sizeof saved->kind, "%s", kind);
    snprintf(saved->name, sizeof saved->name, "%s", name);
    return true;
}

int tinker_saved_parse(struct tinker_saved *saved, const char *path, struct err *err)
{
    static const char prefix[] = "tinker://";
    char run[TINKER_ID_BYTES], kind[32], name[TINKER_ID_BYTES], more;
    if (strncmp(path, prefix, sizeof prefix - 1) == 0 &&
        sscanf(path + sizeof prefix - 1, "%127[^/]/%31[^/]/%127[^/]%c", run, kind, name, &more) ==
            3 &&
        saved_set(saved, run, kind, name))
        return 0;
    return err_set(err, ERR_INPUT,
                   "'%.200s' is no checkpoint: give tinker://RUN/weights/NAME or "
                   "tinker://RUN/sampler_weights/NAME, of letters, digits and -_.:",
                   path);
}

bool tinker_saved_of(struct tinker_saved *saved, const struct http_request *request,
                     struct http_response *response)
{
    if (saved_set(saved, http_parameter(request, "run"), http_parameter(request, "kind"),
                  http_parameter(request, "name")))
        return true;
    http_refuse(response, 400, "invalid",
                "a checkpoint is named weights/NAME or sampler_weights/NAME");
    return false;
}
