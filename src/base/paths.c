#include "base/paths.h"

#include "base/array.h"
#include "base/file.h"
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PARENTS_MAX 4 /* build/tests/base/test_paths is three below the root */

static bool looks_like_root(const char *directory)
{
    static const char *const marks[] = {"python/warpgym", "warpgym-child", "build/warpgym-child"};
    char *path = mem_printf("%s/problems", directory);
    bool problems = file_is_directory(path);
    mem_free(path);
    for (size_t i = 0; problems && i < COUNT(marks); i++) {
        path = mem_printf("%s/%s", directory, marks[i]);
        bool there = file_exists(path);
        mem_free(path);
        if (there)
            return true;
    }
    return false;
}

/* Any user could place a root in a parent directory that is writable by all. */
static bool is_private(const char *directory)
{
    struct stat stat_buffer;
    return stat(directory, &stat_buffer) == 0 && !(stat_buffer.st_mode & S_IWOTH);
}

static bool to_parent(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return false;
    *slash = '\0';
    return true;
}

char *paths_root(void)
{
    char program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return mem_strdup(".");
    program[length] = '\0';
    if (!to_parent(program))
        return mem_strdup("/");
    char *directory = mem_strdup(program);
    for (int i = 0; i < PARENTS_MAX; i++) {
        if ((i == 0 || is_private(program)) && looks_like_root(program)) {
            mem_free(directory);
            return mem_strdup(program);
        }
        if (!to_parent(program))
            break;
    }
    return directory;
}

/* The first of the names (NULL-terminated) below the root that is there; the caller's. */
static char *find_below_root(const char *const *names)
{
    char *root = paths_root();
    char *found = NULL;
    for (; !found && *names; names++) {
        char *path = mem_printf("%s/%s", root, *names);
        if (file_exists(path))
            found = path;
        else
            mem_free(path);
    }
    mem_free(root);
    return found;
}

static char *missing_below_root(const char *what, struct err *err)
{
    char *root = paths_root();
    err_set(err, ERR_MISSING, "%s/%s is missing; build or install warpgym again", root, what);
    mem_free(root);
    return NULL;
}

char *paths_child_program(struct err *err)
{
    static const char *const names[] = {"build/warpgym-child", "warpgym-child", NULL};
    char *path = find_below_root(names);
    if (path && access(path, X_OK) == 0)
        return path;
    mem_free(path);
    return missing_below_root("warpgym-child", err);
}

char *paths_python_package(struct err *err)
{
    static const char *const names[] = {"python", NULL};
    char *path = find_below_root(names);
    return path ? path : missing_below_root("python", err);
}

char *paths_prompts(struct err *err)
{
    static const char *const names[] = {"prompts", NULL};
    char *path = find_below_root(names);
    return path ? path : missing_below_root("prompts", err);
}

/* Looked for among the files beside it, as none is started before it is needed. */
static bool has_torch(const char *python)
{
    static const char *const patterns[] = {
        "/../lib/python3*/site-packages/torch/__init__.py",
        "/../lib/python3/dist-packages/torch/__init__.py",
        "/../local/lib/python3*/dist-packages/torch/__init__.py",
    };
    int directory = (int)(strrchr(python, '/') - python);
    bool found = false;
    for (size_t i = 0; !found && i < COUNT(patterns); i++) {
        glob_t matches;
        char *pattern = mem_printf("%.*s%s", directory, python, patterns[i]);
        found = glob(pattern, GLOB_NOSORT, NULL, &matches) == 0;
        globfree(&matches);
        mem_free(pattern);
    }
    return found;
}

int paths_python(const char *setting, char **python, struct err *err)
{
    static const char *const names[] = {".venv/bin/python3", NULL};
    const char *variable = getenv("WARPGYM_PYTHON");
    bool set = setting && *setting;
    const char *named = set ? setting : variable;
    *python = NULL;
    if (!named || !*named) {
        *python = find_below_root(names);
        *python = *python ? *python : process_find_fitting("python3", has_torch);
        return 0;
    }
    if (access(named, X_OK) < 0 || file_is_directory(named))
        return err_set(err, ERR_MISSING, "%s: '%s' cannot be executed",
                       set ? "python.path" : "WARPGYM_PYTHON", named);
    *python = mem_strdup(named);
    return 0;
}

const char *paths_python_user_base(struct arena *arena)
{
    const char *base = getenv("PYTHONUSERBASE"), *home = getenv("HOME");
    bool named = base && *base;
    return arena_printf(arena, "PYTHONUSERBASE=%s%s",
                        named  ? base
                        : home ? home
                               : "",
                        named ? "" : "/.local");
}

static void list_add(struct paths_list *list, const char *item)
{
    const char **items = arena_alloc(&list->arena, (list->count + 2) * sizeof *items);
    if (list->count > 0)
        memcpy(items, list->items, list->count * sizeof *items);
    items[list->count++] = arena_strdup(&list->arena, item);
    list->items = items;
}

/* Where other tools look for KernelBench, too. */
static int add_kernelbench(struct paths_list *search_paths, struct err *err)
{
    const char *root = getenv("KERNELBENCH_ROOT");
    if (!root || !*root)
        return 0;
    if (!file_is_directory(root))
        return err_set(err, ERR_MISSING, "$KERNELBENCH_ROOT: '%s' is not a directory", root);
    list_add(search_paths, root);
    return 0;
}

int paths_problems(const char *setting, struct paths_list *search_paths, struct err *err)
{
    static const char *const names[] = {"problems", NULL};
    *search_paths = (struct paths_list){0};
    for (const char *at = setting ? setting : ""; *at;) {
        size_t length = strcspn(at, ":");
        char *root = mem_printf("%.*s", (int)length, at);
        at += length + (at[length] == ':');
        bool there = length == 0 || file_is_directory(root);
        if (!there)
            err_set(err, ERR_MISSING, "problems.path: '%s' is not a directory", root);
        else if (length > 0)
            list_add(search_paths, root);
        mem_free(root);
        if (!there) {
            paths_list_deinit(search_paths);
            return ERR_MISSING;
        }
    }
    if (add_kernelbench(search_paths, err) < 0) {
        paths_list_deinit(search_paths);
        return ERR_MISSING;
    }
    char *own = find_below_root(names);
    if (own)
        list_add(search_paths, own);
    mem_free(own);
    return 0;
}

void paths_list_deinit(struct paths_list *list)
{
    arena_deinit(&list->arena);
    *list = (struct paths_list){0};
}

/* An absolute path from the environment (the XDG specification has relative ones ignored), or
 * NULL. */
static const char *variable_path(const char *name)
{
    const char *value = getenv(name);
    return value && *value == '/' ? value : NULL;
}

/* $XDG/warpgym, else ~/below_home/warpgym, else NULL; the caller's. */
static char *user_path(const char *xdg, const char *below_home)
{
    const char *base = variable_path(xdg);
    if (base)
        return mem_printf("%s/warpgym", base);
    const char *home = variable_path("HOME");
    /* Services without a home have "/" or a path that is not there. */
    if (home && strcmp(home, "/") != 0 && file_is_directory(home))
        return mem_printf("%s/%s/warpgym", home, below_home);
    return NULL;
}

static bool make_usable(const char *path, struct err *err)
{
    if (file_make_directories(path, 0700, err) < 0)
        return false;
    if (access(path, W_OK | X_OK) == 0)
        return true;
    err_sys(err, errno, "%s: cannot write to the directory", path);
    return false;
}

/* /var/tmp/warpgym-UID. All users may write to /var/tmp, so only a real directory that we own and
 * that is closed to others is accepted. */
static char *fallback_path(struct err *err)
{
    char *path = mem_printf("/var/tmp/warpgym-%u", (unsigned)geteuid());
    struct stat stat_buffer;
    if (mkdir(path, 0700) < 0 && errno != EEXIST) {
        err_sys(err, errno, "%s: cannot create the directory", path);
    } else if (lstat(path, &stat_buffer) < 0) {
        err_sys(err, errno, "%s: cannot inspect the directory", path);
    } else if (!S_ISDIR(stat_buffer.st_mode) || stat_buffer.st_uid != geteuid() ||
               (stat_buffer.st_mode & (S_IWGRP | S_IWOTH))) {
        err_set(err, ERR_IO,
                "%s: is not a directory that only you may write to; remove it, or set HOME or "
                "XDG_CACHE_HOME",
                path);
    } else {
        return path;
    }
    mem_free(path);
    return NULL;
}

static char *own_path(const char *xdg, const char *below_home, struct err *err)
{
    char *path = user_path(xdg, below_home);
    if (path && make_usable(path, err))
        return path;
    mem_free(path);
    return fallback_path(err);
}

char *paths_cache(const char *setting, struct err *err)
{
    if (!setting || !*setting)
        return own_path("XDG_CACHE_HOME", ".cache", err);
    if (make_usable(setting, err))
        return mem_strdup(setting);
    err_prefix(err, "cache.directory");
    return NULL;
}

char *paths_state(struct err *err)
{
    return own_path("XDG_STATE_HOME", ".local/state", err);
}

char *paths_config_file(void)
{
    char *directory = user_path("XDG_CONFIG_HOME", ".config");
    char *path = directory ? mem_printf("%s/config.yaml", directory) : NULL;
    mem_free(directory);
    return path;
}

/* Whether users may share this directory: it is a real directory, so that no link redirects our
 * files, and it belongs to root or to us, or is sticky, so that users can't remove each other's
 * files. A new one gets its mode through the descriptor, because the name may be replaced. */
static bool is_shared(const char *path, bool made)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat stat_buffer;
    bool good = fd >= 0 && (!made || fchmod(fd, 01777) == 0) && fstat(fd, &stat_buffer) == 0;
    bool ours = good && (stat_buffer.st_uid == 0 || stat_buffer.st_uid == geteuid());
    bool sticky = good && (stat_buffer.st_mode & S_ISVTX);
    good = good && (ours || sticky) && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) == 0;
    if (fd >= 0)
        close(fd);
    return good;
}

static bool make_shared(const char *path)
{
    bool made = mkdir(path, 0700) == 0;
    bool shared = is_shared(path, made);
    /* Another user may have created it and not yet set its mode. */
    for (int i = 0; !shared && !made && i < 5 && file_is_directory(path); i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        shared = is_shared(path, false);
    }
    return shared;
}

char *paths_lock_directory(struct err *err)
{
    static const char *const shared[] = {"/run/lock/warpgym", "/tmp/warpgym-lock"};
    for (size_t i = 0; i < COUNT(shared); i++)
        if (make_shared(shared[i]))
            return mem_strdup(shared[i]);
    return paths_state(err);
}
