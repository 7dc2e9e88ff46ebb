/* paths: where the installation and the user's files are.
 *
 * The installation root is the directory of the running binary, or the nearest of its parents (not
 * writable for strangers) that holds problems/ and python/ or warpgym-child: a development tree, a
 * `make dist` directory and a test executable below build/ all find the same things.
 *
 * Directories for our own data are made on demand, mode 0700. Returned strings are the caller's
 * (mem_free). Nothing is cached, so tests may change the environment; no function changes it.
 */
#pragma once

#include "base/err.h"
#include "base/mem.h"

#include <stddef.h>

struct paths_list {
    const char **items;
    size_t count;
    struct arena arena;
};

/* Never NULL; "." when even /proc is missing. */
char *paths_root(void);
/* build/warpgym-child or warpgym-child; NULL with ERR_MISSING. */
char *paths_child_program(struct err *err);
/* Directory to put on Python's search path (it holds warpgym/); NULL with ERR_MISSING. */
char *paths_python_package(struct err *err);
/* Our own templates of prompts; NULL with ERR_MISSING. */
char *paths_prompts(struct err *err);
/* The python.path setting, $WARPGYM_PYTHON, .venv/bin/python3 in the root, the first python3 of
 * $PATH beside which PyTorch is installed: the first that is set, or there. ERR_MISSING where one
 * is named and cannot be executed; *python is NULL where none is. */
NODISCARD int paths_python(const char *setting, char **python, struct err *err);
/* "PYTHONUSERBASE=…": where `pip install --user` puts PyTorch for that Python. A process that runs
 * it in another home, or in none, needs that said. */
const char *paths_python_user_base(struct arena *arena);

/* Search paths of problems: those of the setting (separated by colons), $KERNELBENCH_ROOT, then our
 * own. One that is named and is not a directory is ERR_MISSING; our own may be missing. */
NODISCARD int paths_problems(const char *setting, struct paths_list *search_paths, struct err *err);
void paths_list_deinit(struct paths_list *list);

/* The cache.directory setting, $XDG_CACHE_HOME/warpgym, ~/.cache/warpgym, /var/tmp/warpgym-UID: the
 * first that is set and can be made. NULL with an error. */
char *paths_cache(const char *setting, struct err *err);
/* $XDG_STATE_HOME/warpgym, ~/.local/state/warpgym, else as paths_cache. NULL with an error. */
char *paths_state(struct err *err);
/* $XDG_CONFIG_HOME/warpgym/config.yaml or ~/.config/…; it need not exist. NULL without a home. */
char *paths_config_file(void);

/* For the device lock, shared by all users of the machine: /run/lock/warpgym, else
 * /tmp/warpgym-lock; mode 01777, a real directory that belongs to root or to us, or carries the
 * sticky bit. Where neither can be had, a directory of our own (the lock then holds among our
 * processes only). NULL with an error. */
char *paths_lock_directory(struct err *err);
