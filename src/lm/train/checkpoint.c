#include "lm/train/checkpoint.h"

#include "base/file.h"
#include "base/mem.h"
#include "lm/weights/sidecar_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define PREVIOUS ".previous"

static const char *const parts[] = {
    CHECKPOINT_STATE,      CHECKPOINT_OPTIMIZER,        "config.json", "model.safetensors",
    "adapter_config.json", "adapter_model.safetensors", NULL};

/* `name` itself, or a temporary file that a dead writer left of it. */
static bool is_among(const char *const *names, const char *name)
{
    for (; *names; names++) {
        size_t length = strlen(*names);
        if (strncmp(name, *names, length) == 0 && (name[length] == '\0' || name[length] == '.'))
            return true;
    }
    return false;
}

static bool is_part(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || is_among(parts, name) ||
           is_among(lm_sidecar_files, name);
}

/* 0 where there is no such directory. */
static int check_parts(const char *path, struct err *err)
{
    DIR *directory = opendir(path);
    if (!directory)
        return errno == ENOENT ? 0 : err_sys(err, errno, "%s: cannot open the directory", path);
    int result = 0;
    for (struct dirent *entry; result == 0 && (entry = readdir(directory));)
        if (!is_part(entry->d_name))
            result = err_set(err, ERR_INPUT,
                             "%s: holds %s, which is no part of a checkpoint; nothing is replaced "
                             "there, name another directory",
                             path, entry->d_name);
    closedir(directory);
    return result;
}

static void checkpoint_deinit(struct checkpoint *checkpoint)
{
    mem_free(checkpoint->directory);
    mem_free(checkpoint->path);
    *checkpoint = (struct checkpoint){0};
}

int checkpoint_begin(struct checkpoint *checkpoint, const char *directory, struct err *err)
{
    checkpoint->directory = file_plain(directory);
    checkpoint->path = mem_printf("%s" CHECKPOINT_SAVING, checkpoint->directory);
    int result = check_parts(checkpoint->directory, err);
    if (result == 0)
        result = check_parts(checkpoint->path, err);
    if (result == 0) {
        file_remove_tree(checkpoint->path);
        result = file_make_directories(checkpoint->path, 0755, err);
    }
    if (result < 0)
        checkpoint_deinit(checkpoint);
    return result;
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

int checkpoint_end(struct checkpoint *checkpoint, int result, struct err *err)
{
    if (result == 0)
        result = file_sync_files(checkpoint->path, err);
    char *previous = mem_printf("%s" PREVIOUS, checkpoint->directory);
    if (result == 0 && put_in_place(checkpoint) < 0)
        result = err_sys(err, errno, "%s: cannot put the new checkpoint in its place",
                         checkpoint->directory);
    if (result == 0)
        result = file_sync_parent(checkpoint->directory, err);
    /* What was there before has the other name now. */
    file_remove_tree(checkpoint->path);
    if (result == 0)
        file_remove_tree(previous);
    mem_free(previous);
    checkpoint_deinit(checkpoint);
    return result;
}

int checkpoint_find(const char *directory, char **path, struct err *err)
{
    const char *const suffixes[] = {"", PREVIOUS};
    char *plain = file_plain(directory);
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
    char *plain = file_plain(directory);
    char *gone = mem_printf("%s" CHECKPOINT_SAVING, plain);
    file_remove_tree(gone);
    if (rename(plain, gone) == 0)
        file_remove_tree(gone);
    mem_free(gone);
    mem_free(plain);
}
