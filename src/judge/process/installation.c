#include "judge/process/installation.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/paths.h"
#include "judge/request/judge_settings.h"

int installation_find(struct installation *installation, const struct settings *settings,
                      struct err *err)
{
    const struct python_settings *python = python_settings(settings);
    struct err why = {0};
    installation->root = paths_root();
    installation->child_program = paths_child_program(err);
    installation->locks = installation->child_program ? paths_lock_directory(err) : NULL;
    if (!installation->locks)
        return ERR_MISSING;
    installation->cache = paths_cache(cache_settings(settings)->directory, &why);
    if (!installation->cache)
        log_write(LOG_LEVEL_WARN, "judge", "builds are not kept: %s", why.text);
    installation->state = paths_state(&why);
    installation->python_package = paths_python_package(&why);
    int result = paths_python(python->path, &installation->python, err);
    if (result < 0 && python->path[0])
        return result;
    if (result < 0) /* WARPGYM_PYTHON, which stands in many a profile: torch problems will say so */
        installation->python_problem = mem_strdup(err->text);
    return 0;
}

void installation_deinit(struct installation *installation)
{
    mem_free(installation->root);
    mem_free(installation->cache);
    mem_free(installation->state);
    mem_free(installation->locks);
    mem_free(installation->child_program);
    mem_free(installation->python);
    mem_free(installation->python_problem);
    mem_free(installation->python_package);
}
