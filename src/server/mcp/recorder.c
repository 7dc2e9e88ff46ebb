#include "server/mcp/recorder.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/lockfile.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/remote.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK_WAIT_MS 10000
#define LOCK_PAUSE_MS 20
#define TAIL_BYTES 65536

struct mcp_recorder {
    struct gym *gym;
    char *directory;
    char *own; /* DIR/open/PROCESS */
    int lock;  /* of own/lock (lockfile.h): held for our lifetime */
    pthread_mutex_t appending;
};

/* Waits while another process writes. */
static int open_locked(const char *path, int *fd, struct err *err)
{
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE_MS * 1000000L};
    int64_t deadline_ns = clock_now_ns() + (int64_t)LOCK_WAIT_MS * 1000000;
    int result;
    while ((result = lockfile_take(path, fd, err)) == ERR_LIMIT && clock_now_ns() < deadline_ns)
        nanosleep(&pause, NULL);
    return result;
}

/* Goes to the end, and removes a partial last line that a killed process left. */
static int seek_last_line(int fd, const char *path, struct err *err)
{
    char *bytes = mem_alloc(TAIL_BYTES);
    off_t end = lseek(fd, 0, SEEK_END), size = end;
    bool whole = end <= 0;
    while (!whole && end > 0) {
        off_t from = end > TAIL_BYTES ? end - TAIL_BYTES : 0;
        ssize_t count = pread(fd, bytes, (size_t)(end - from), from);
        if (count <= 0)
            break;
        const char *newline = memrchr(bytes, '\n', (size_t)count);
        whole = newline != NULL;
        end = newline ? from + (newline - bytes) + 1 : from;
    }
    mem_free(bytes);
    if (end < size && ftruncate(fd, end > 0 ? end : 0) < 0)
        return err_sys(err, errno, "cannot truncate %s to its last whole line", path);
    (void)lseek(fd, 0, SEEK_END);
    return 0;
}

static int append_line(struct mcp_recorder *recorder, const struct buf *line, struct err *err)
{
    char *path = mem_printf("%s/trajectories.jsonl", recorder->directory);
    pthread_mutex_lock(&recorder->appending);
    int fd;
    int result = open_locked(path, &fd, err);
    if (result == 0)
        result = seek_last_line(fd, path, err);
    if (result == 0)
        result = file_write_fd(fd, path, line->data, line->len, err);
    if (result == 0 && fdatasync(fd) < 0)
        result = err_sys(err, errno, "cannot write %s", path);
    if (fd >= 0)
        close(fd);
    pthread_mutex_unlock(&recorder->appending);
    mem_free(path);
    return result;
}

static int append_trajectory(struct mcp_recorder *recorder, const struct episode *episode,
                             struct err *err)
{
    json_t *trajectory = episode_trajectory(episode);
    struct buf line;
    buf_init(&line, LIMIT_JOURNAL_LINE_BYTES);
    int result = json_line_write(trajectory, &line, err);
    if (result == 0)
        result = append_line(recorder, &line, err);
    buf_deinit(&line);
    json_decref(trajectory);
    return result;
}

static const char *id_of(const struct episode *episode)
{
    return json_string_value(json_object_get(episode_state(episode), "id"));
}

static char *path_of(const char *folder, const char *id)
{
    return mem_printf("%s/%s.json", folder, id);
}

int mcp_recorder_save(struct mcp_recorder *recorder, const struct episode *episode, struct err *err)
{
    char *path = path_of(recorder->own, id_of(episode));
    struct buf text;
    buf_init(&text, LIMIT_JOURNAL_LINE_BYTES);
    int result = json_line_write(episode_state(episode), &text, err);
    if (result == 0)
        result = file_write_atomic(path, text.data, text.len, 0644, err);
    buf_deinit(&text);
    mem_free(path);
    return result;
}

void mcp_recorder_forget(struct mcp_recorder *recorder, const char *id)
{
    char *path = path_of(recorder->own, id);
    (void)unlink(path);
    mem_free(path);
}

int mcp_recorder_end(struct mcp_recorder *recorder, const struct episode *episode, struct err *err)
{
    int result = episode_turn(episode) > 0 ? append_trajectory(recorder, episode, err) : 0;
    if (result == 0)
        mcp_recorder_forget(recorder, id_of(episode));
    return result;
}

/* A process may be killed between writing the line and removing the state: then the line is its
 * last, and an id is 128 random bits. */
static bool is_written(const struct mcp_recorder *recorder, const char *id)
{
    char *path = mem_printf("%s/trajectories.jsonl", recorder->directory);
    char *wanted = mem_printf("\"episode\":\"%s\"", id), *line = NULL;
    FILE *file = fopen(path, "re");
    size_t capacity = 0;
    bool found = false;
    while (file && !found && getline(&line, &capacity, file) >= 0)
        found = strstr(line, wanted) != NULL;
    if (file)
        fclose(file);
    mem_free(line);
    mem_free(wanted);
    mem_free(path);
    return found;
}

static int adopt_state(struct mcp_recorder *recorder, const char *text, size_t count,
                       struct err *err)
{
    struct episode *episode = NULL;
    json_t *state = NULL;
    int result = json_parse("state", text, count, &state, err);
    if (result == 0)
        result = episode_load(&episode, recorder->gym, state, err);
    json_decref(state);
    if (result < 0)
        return result;
    if (episode_phase(episode) != EPISODE_DONE)
        episode_end(episode, "expired");
    if (episode_turn(episode) > 0 && !is_written(recorder, id_of(episode)))
        result = append_trajectory(recorder, episode, err);
    episode_free(episode);
    return result;
}

/* An unreadable state, or one whose problem is missing, stays. */
static void adopt_file(struct mcp_recorder *recorder, const char *path)
{
    char *text = NULL;
    size_t count;
    struct err err;
    int result = file_read(path, LIMIT_JOURNAL_LINE_BYTES, &text, &count, &err);
    if (result == 0)
        result = adopt_state(recorder, text, count, &err);
    if (result == 0)
        (void)unlink(path);
    else
        log_event(LOG_LEVEL_WARN, "mcp", "cannot end an episode that was left open", "path", path,
                  "why", err.text, NULL);
    mem_free(text);
}

/* If a state stays in it, its lock stays too: the next process tries again. */
static void remove_folder(const char *folder, const char *lock)
{
    if (unlink(lock) < 0 || rmdir(folder) == 0)
        return;
    int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd >= 0)
        close(fd);
}

static void adopt_folder(struct mcp_recorder *recorder, const char *folder)
{
    char *lock = mem_printf("%s/lock", folder);
    int fd;
    DIR *directory = lockfile_take(lock, &fd, NULL) == 0 ? opendir(folder) : NULL;
    const struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".json") != 0)
            continue;
        char *path = mem_printf("%s/%s", folder, entry->d_name);
        adopt_file(recorder, path);
        mem_free(path);
    }
    if (directory) {
        closedir(directory);
        remove_folder(folder, lock);
    }
    if (fd >= 0)
        close(fd);
    mem_free(lock);
}

static void adopt_all(struct mcp_recorder *recorder)
{
    char *open = mem_printf("%s/open", recorder->directory);
    DIR *directory = opendir(open);
    const struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        char *folder = mem_printf("%s/%s", open, entry->d_name);
        if (entry->d_name[0] != '.' && strcmp(folder, recorder->own) != 0)
            adopt_folder(recorder, folder);
        mem_free(folder);
    }
    if (directory)
        closedir(directory);
    mem_free(open);
}

/* Locks it before it becomes visible: an unlocked folder counts as a dead process's. */
static int make_own(struct mcp_recorder *recorder, const char *id, struct err *err)
{
    char *hidden = mem_printf("%s/open/.%s", recorder->directory, id);
    char *lock = mem_printf("%s/lock", hidden);
    int result = file_make_directories(hidden, 0755, err);
    if (result == 0)
        result = lockfile_take(lock, &recorder->lock, err);
    if (result == 0 && rename(hidden, recorder->own) < 0)
        result = err_sys(err, errno, "cannot make %s", recorder->own);
    mem_free(lock);
    mem_free(hidden);
    return result;
}

int mcp_recorder_open(struct mcp_recorder **out, const char *directory, struct gym *gym,
                      struct err *err)
{
    struct mcp_recorder *recorder = mem_alloc(sizeof *recorder);
    char id[REMOTE_ID_BYTES];
    remote_draw_id(id);
    recorder->gym = gym;
    recorder->lock = -1;
    recorder->directory = mem_strdup(directory);
    recorder->own = mem_printf("%s/open/%s", directory, id);
    pthread_mutex_init(&recorder->appending, NULL);
    int result = make_own(recorder, id, err);
    if (result < 0) {
        mcp_recorder_close(recorder);
        return result;
    }
    adopt_all(recorder);
    *out = recorder;
    return 0;
}

void mcp_recorder_close(struct mcp_recorder *recorder)
{
    if (!recorder)
        return;
    char *lock = mem_printf("%s/lock", recorder->own);
    if (recorder->lock >= 0) {
        remove_folder(recorder->own, lock);
        close(recorder->lock);
    }
    mem_free(lock);
    mem_free(recorder->own);
    mem_free(recorder->directory);
    pthread_mutex_destroy(&recorder->appending);
    mem_free(recorder);
}
