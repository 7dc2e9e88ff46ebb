#include "lm/train/checkpoint.h"

#include "base/file.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PREVIOUS ".previous"

static const char *const parts[] = {CHECKPOINT_STATE,
                                    CHECKPOINT_OPTIMIZER,
                                    "config.json",
                                    "generation_config.json",
                                    "model.safetensors",
                                    "adapter_config.json",
                                    "adapter_model.safetensors",
                                    "tokenizer.json",
                                    "tokenizer_config.json",
                                    "chat_template.jinja"};

/* One of the parts, or a temporary file that a dead writer left of one. */
static bool is_part(const char *name)
{
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t length = strlen(parts[i]);
        if (strncmp(name, parts[i], length) == 0 && (name[length] == '\0' || name[length] == '.'))
            return true;
    }
    return false;
}

/* Calls `visit` for each name; 0 where there is no such directory. */
static int each_part(const char *path, int (*visit)(DIR *directory, const char *name),
                     struct err *err)
{
    DIR *directory = opendir(path);
    if (!directory)
        return errno == ENOENT ? 0 : err_sys(err, errno, "%s: cannot open the directory", path);
    int result = 0;
    for (struct dirent *entry; result == 0 && (entry = readdir(directory));) {
        result = visit(directory, entry->d_name);
        if (result == ERR_INPUT)
            err_set(err, result,
                    "%s: holds %s, which is no part of a checkpoint; nothing is replaced there, "
                    "name another directory",
                    path, entry->d_name);
        else if (result < 0)
            err_sys(err, errno, "%s/%s: cannot write it to the disk", path, entry->d_name);
    }
    closedir(directory);
    return result;
}

static int visit_known(DIR *directory, const char *name)
{
    (void)directory;
    return is_part(name) ? 0 : ERR_INPUT;
}

static int visit_sync(DIR *directory, const char *name)
{
    if (strcmp(name, "..") == 0)
        return 0;
    int fd = openat(dirfd(directory), name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int result = fd < 0 || fsync(fd) < 0 ? ERR_IO : 0;
    int failure = errno;
    if (fd >= 0)
        close(fd);
    errno = failure;
    return result;
}

/* ------------------------------------------------------------------------------------ the parts */

static char *without_slash(const char *directory)
{
    char *copy = mem_strdup(directory);
    for (size_t length = strlen(copy); length > 1 && copy[length - 1] == '/'; length--)
        copy[length - 1] = '\0';
    return copy;
}

static char *parent_of(const char *directory)
{
    const char *slash = strrchr(directory, '/');
    if (!slash)
        return mem_strdup(".");
    return slash == directory ? mem_strdup("/")
                              : mem_printf("%.*s", (int)(slash - directory), directory);
}

static void checkpoint_deinit(struct checkpoint *checkpoint)
{
    mem_free(checkpoint->directory);
    mem_free(checkpoint->path);
    *checkpoint = (struct checkpoint){0};
}

int checkpoint_begin(struct checkpoint *checkpoint, const char *directory, struct err *err)
{
    checkpoint->directory = without_slash(directory);
    checkpoint->path = mem_printf("%s" CHECKPOINT_SAVING, checkpoint->directory);
    int result = each_part(checkpoint->directory, visit_known, err);
    if (result == 0)
        result = each_part(checkpoint->path, visit_known, err);
    if (result == 0) {
        file_remove_tree(checkpoint->path);
        result = file_make_directories(checkpoint->path, 0755, err);
    }
    if (result < 0)
        checkpoint_deinit(checkpoint);
    return result;
}

void checkpoint_abort(struct checkpoint *checkpoint)
{
    file_remove_tree(checkpoint->path);
    checkpoint_deinit(checkpoint);
}

/* Where two names cannot be exchanged; a death in between leaves `previous`. */
static int replace_in_two(const struct checkpoint *checkpoint)
{
    char *previous = mem_printf("%s" PREVIOUS, checkpoint->directory);
    file_remove_tree(previous);
    int result = rename(checkpoint->directory, previous);
    if (result == 0)
        result = rename(checkpoint->path, checkpoint->directory);
    int failure = errno;
    if (result == 0)
        file_remove_tree(previous);
    mem_free(previous);
    errno = failure;
    return result;
}

static int put_in_place(const struct checkpoint *checkpoint)
{
    /* With a previous one whose successor never came, there is nothing under the name. */
    if (!file_exists(checkpoint->directory))
        return rename(checkpoint->path, checkpoint->directory);
    if (renameat2(AT_FDCWD, checkpoint->path, AT_FDCWD, checkpoint->directory, RENAME_EXCHANGE) < 0)
        return replace_in_two(checkpoint);
    return 0;
}

static int sync_directory(const char *path, struct err *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int result = 0;
    if (fd < 0 || fsync(fd) < 0)
        result = err_sys(err, errno, "%s: cannot write it to the disk", path);
    if (fd >= 0)
        close(fd);
    return result;
}

int checkpoint_commit(struct checkpoint *checkpoint, struct err *err)
{
    int result = each_part(checkpoint->path, visit_sync, err);
    char *parent = parent_of(checkpoint->directory);
    char *previous = mem_printf("%s" PREVIOUS, checkpoint->directory);
    if (result == 0 && put_in_place(checkpoint) < 0)
        result = err_sys(err, errno, "%s: cannot put the new checkpoint in its place",
                         checkpoint->directory);
    if (result == 0)
        result = sync_directory(parent, err);
    /* What was there before has the other name now. */
    file_remove_tree(checkpoint->path);
    if (result == 0)
        file_remove_tree(previous);
    mem_free(previous);
    mem_free(parent);
    checkpoint_deinit(checkpoint);
    return result;
}

int checkpoint_find(const char *directory, char **path, struct err *err)
{
    const char *const suffixes[] = {"", PREVIOUS};
    char *plain = without_slash(directory);
    *path = NULL;
    for (size_t i = 0; i < 2 && !*path; i++) {
        char *state = mem_printf("%s%s/" CHECKPOINT_STATE, plain, suffixes[i]);
        if (file_exists(state))
            *path = mem_printf("%s%s", plain, suffixes[i]);
        mem_free(state);
    }
    mem_free(plain);
    if (*path)
        return 0;
    return err_set(err, ERR_MISSING, "%s: is no checkpoint (it has no " CHECKPOINT_STATE ")",
                   directory);
}

void checkpoint_remove(const char *directory)
{
    char *plain = without_slash(directory);
    char *gone = mem_printf("%s" CHECKPOINT_SAVING, plain);
    file_remove_tree(gone);
    if (rename(plain, gone) == 0)
        file_remove_tree(gone);
    mem_free(gone);
    mem_free(plain);
}
