#include "judge/trace/objects.h"

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define KNOWN_MAX 4096

struct identity {
    uint64_t device, inode;
};

static struct {
    bool taken;
    struct timespec at;
    char own[PATH_MAX]; /* with a slash at its end */
    uint32_t count;
    struct identity known[KNOWN_MAX];
} snapshot;

/* One line of /proc/self/maps; false: a mapping without a file. */
static bool parse_map(char *line, uintptr_t *start, uintptr_t *end, struct object *object)
{
    char *at = line;
    *start = (uintptr_t)strtoull(at, &at, 16);
    *end = *at == '-' ? (uintptr_t)strtoull(at + 1, &at, 16) : 0;
    at += strspn(at, " ");
    at += strcspn(at, " "); /* rights */
    strtoull(at, &at, 16);  /* offset */
    unsigned long major_number = strtoul(at, &at, 16);
    unsigned long minor_number = *at == ':' ? strtoul(at + 1, &at, 16) : 0;
    object->device = makedev((unsigned)major_number, (unsigned)minor_number);
    object->inode = strtoull(at, &at, 10);
    at += strspn(at, " ");
    at[strcspn(at, "\n")] = '\0';
    snprintf(object->path, sizeof object->path, "%s", at);
    return object->inode != 0;
}

static void remember_object(const struct object *object)
{
    struct identity *last = snapshot.count ? &snapshot.known[snapshot.count - 1] : NULL;
    if (last && last->device == object->device && last->inode == object->inode)
        return; /* a file's mappings follow one another */
    if (snapshot.count < KNOWN_MAX)
        snapshot.known[snapshot.count++] = (struct identity){.device = object->device,
                                                             .inode = object->inode};
}

static int by_identity(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct identity));
}

/* Calls `remember` for every file, or finds the one at an address. */
static bool each_object(const void *address, struct object *object)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char *line = NULL;
    size_t capacity = 0;
    bool found = false;
    while (maps && !found && getline(&line, &capacity, maps) > 0) {
        uintptr_t start;
        uintptr_t end;
        if (!parse_map(line, &start, &end, object))
            continue;
        if (!address)
            remember_object(object);
        else
            found = (uintptr_t)address >= start && (uintptr_t)address < end;
    }
    free(line);
    if (maps)
        fclose(maps);
    return found;
}

void objects_snapshot(void)
{
    struct object object;
    snapshot.count = 0;
    each_object(NULL, &object);
    qsort(snapshot.known, snapshot.count, sizeof *snapshot.known, by_identity);
    /* Rounded up by the granularity of a file system's clock. */
    clock_gettime(CLOCK_REALTIME_COARSE, &snapshot.at);
    if (!getcwd(snapshot.own, sizeof snapshot.own - 1))
        snapshot.own[0] = '\0';
    size_t length = strlen(snapshot.own);
    if (length > 1 && snapshot.own[length - 1] != '/')
        memcpy(snapshot.own + length, "/", 2);
    else if (length <= 1)
        snapshot.own[0] = '\0'; /* "/" is not the candidate's own */
    snapshot.taken = true;
}

bool objects_find(const void *address, struct object *object)
{
    return address && each_object(address, object);
}

bool objects_library(const struct object *object)
{
    struct identity wanted = {.device = object->device, .inode = object->inode};
    struct stat facts;
    if (!snapshot.taken ||
        bsearch(&wanted, snapshot.known, snapshot.count, sizeof *snapshot.known, by_identity))
        return true;
    size_t own = strlen(snapshot.own);
    if (own > 0 && strncmp(object->path, snapshot.own, own) == 0)
        return false;
    /* Overlay file systems show one inode to stat and another to maps: the path must do. The
     * kernel wrote it, so it leads out of the scratch only if the file does. */
    if (stat(object->path, &facts) < 0)
        return false; /* deleted, or no file at all: only a candidate does so */
    return facts.st_ctim.tv_sec < snapshot.at.tv_sec ||
           (facts.st_ctim.tv_sec == snapshot.at.tv_sec &&
            facts.st_ctim.tv_nsec < snapshot.at.tv_nsec);
}

static const struct link_map *is_loaded(const void *address)
{
    Dl_info info;
    struct link_map *map = NULL;
    return dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) ? map : NULL;
}

const void *objects_loaded(const void *address)
{
    return is_loaded(address);
}

bool objects_passes_on(const void *address)
{
    static const char python[] = "\0PyErr_"; /* a symbol's beginning, after the end of another */
    const struct link_map *map = is_loaded(address);
    const char *text = NULL;
    size_t bytes = 0;
    if (!map || !map->l_name[0]) /* the main program has no name */
        return map != NULL;
    for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_STRTAB)
            text = (const char *)(uintptr_t)entry->d_un.d_ptr;
        else if (entry->d_tag == DT_STRSZ)
            bytes = entry->d_un.d_val;
    }
    return text && memmem(text, bytes, python, sizeof python - 1);
}
