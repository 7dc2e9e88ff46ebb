#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/paths.h"
#include "base/process.h"
#include "compile/compile.h"
#include "device/nvrtc.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define VERSION_BYTES 200
#define VERSION_OUTPUT_BYTES 4096
#define VERSION_TIMEOUT_MS 10000
#define WRAPPER_BYTES 16384
#define CPUINFO_BYTES 16384

static bool is_program(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode) && access(path, X_OK) == 0;
}

/* The same file by the canonical name of its directory, which exists inside a sandbox too; the last
 * component stays as it is, for programs that go by their name. NULL: there is no such file. */
static char *canonical_path(const char *path)
{
    char directory[PATH_MAX];
    char real[PATH_MAX];
    const char *name = file_basename(path);
    size_t length = (size_t)(name - path);
    if (length == 0 || length >= sizeof directory)
        return NULL;
    memcpy(directory, path, length);
    directory[length] = '\0';
    if (!realpath(directory, real) || access(path, F_OK) < 0)
        return NULL;
    return mem_printf("%s/%s", strcmp(real, "/") == 0 ? "" : real, name);
}

static char *take_canonical(char *path)
{
    char *result = path ? canonical_path(path) : NULL;
    mem_free(path);
    return result;
}

/* A build cache or a distributor in front of the compiler needs a home, a network or a daemon, and
 * has none of them in a sandbox. */
static bool is_compiler_proxy(const char *path)
{
    static const char *const proxies[] = {"ccache", "sccache", "distcc", "icecc"};
    char real[PATH_MAX];
    if (!realpath(path, real))
        return true;
    for (size_t i = 0; i < COUNT(proxies); i++)
        if (strcmp(file_basename(real), proxies[i]) == 0)
            return true;
    return false;
}

/* What the user named: a path, or a name to be looked up. Never something else in its place. */
static char *find_named(const char *named)
{
    if (strchr(named, '/'))
        return is_program(named) ? mem_strdup(named) : NULL;
    return process_find(named);
}

static char *find_cc(void)
{
    static const char *const names[] = {"gcc", "cc", "clang"};
    static const char *const places[] = {"/usr/bin/gcc", "/usr/bin/cc", "/usr/bin/clang"};
    const char *named = getenv("WARPGYM_CC");
    if (named && *named)
        return find_named(named);
    for (size_t i = 0; i < COUNT(names); i++) {
        char *found = process_find(names[i]);
        if (found && !is_compiler_proxy(found))
            return found;
        mem_free(found);
    }
    for (size_t i = 0; i < COUNT(places); i++)
        if (is_program(places[i]) && !is_compiler_proxy(places[i]))
            return mem_strdup(places[i]);
    return NULL;
}

/* The C++ compiler that belongs to a C compiler: /opt/bin/g++-13 to /opt/bin/gcc-13. NULL: there is
 * none. */
static char *find_beside(const char *cc)
{
    static const struct {
        const char *c, *cxx;
    } names[] = {{"gcc", "g++"}, {"clang", "clang++"}, {"cc", "c++"}};
    const char *name = file_basename(cc);
    for (size_t i = 0; i < COUNT(names); i++) {
        const char *at = strstr(name, names[i].c);
        if (!at)
            continue;
        char *path = mem_printf("%.*s%s%s", (int)(at - cc), cc, names[i].cxx,
                                at + strlen(names[i].c));
        if (is_program(path) && !is_compiler_proxy(path))
            return path;
        mem_free(path);
        return NULL;
    }
    return NULL;
}

static char *find_cxx(const char *cc)
{
    static const char *const names[] = {"g++", "c++", "clang++"};
    const char *named = getenv("WARPGYM_CXX");
    if (named && *named)
        return find_named(named);
    char *found = cc ? find_beside(cc) : NULL;
    for (size_t i = 0; !found && i < COUNT(names); i++) {
        found = process_find(names[i]);
        if (found && is_compiler_proxy(found)) {
            mem_free(found);
            found = NULL;
        }
    }
    return found;
}

static char *find_nvcc(void)
{
    const char *named = getenv("WARPGYM_NVCC");
    if (named && *named)
        return find_named(named);
    char *found = process_find("nvcc");
    if (found)
        return found;
    const char *home = getenv("CUDA_HOME");
    if (home && *home == '/') {
        found = mem_printf("%s/bin/nvcc", home);
        if (is_program(found))
            return found;
        mem_free(found);
    }
    return is_program("/usr/local/cuda/bin/nvcc") ? mem_strdup("/usr/local/cuda/bin/nvcc") : NULL;
}

/* Where the version of the program at `path` is remembered: named by what would change with another
 * version, so that nothing has to be started to learn it. NULL: nowhere. */
static char *version_note(const char *path)
{
    char real[PATH_MAX];
    char hex[HASH_HEX_BYTES];
    struct stat facts;
    char *cache = paths_cache("", NULL);
    if (!cache || !realpath(path, real) || stat(real, &facts) < 0) {
        mem_free(cache);
        return NULL;
    }
    char *identity = mem_printf("%s\n%s\n%llu\n%lld.%09ld\n%llu", path, real,
                                (unsigned long long)facts.st_size, (long long)facts.st_mtim.tv_sec,
                                facts.st_mtim.tv_nsec, (unsigned long long)facts.st_ino);
    hash_bytes(identity, strlen(identity), hex);
    char *note = mem_printf("%s/toolchain/%.24s", cache, hex);
    mem_free(identity);
    mem_free(cache);
    return note;
}

/* The first line that holds `mark` (NULL: the first one), cut and printable; NULL: there is none.
 * */
static char *pick_line(const char *text, const char *mark)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        char line[VERSION_BYTES];
        snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line ? length : sizeof line - 1),
                 text);
        for (char *c = line; *c; c++)
            if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
                *c = '?';
        if (line[0] && (!mark || strstr(line, mark)))
            return mem_strdup(line);
        text += length;
        text += *text == '\n';
    }
    return NULL;
}

static char *run_version(const char *path, const char *mark)
{
    const char *const argv[] = {path, "--version", NULL};
    const char *const environment[] = {"LC_ALL=C", "PATH=/usr/bin:/bin", NULL};
    struct command command = {.argv = argv,
                              .environment = environment,
                              .directory = "/",
                              .timeout_ms = VERSION_TIMEOUT_MS};
    struct outcome outcome;
    outcome_init(&outcome, VERSION_OUTPUT_BYTES);
    char *version = NULL;
    if (process_runner.run(&process_runner, &command, &outcome, NULL) == 0 &&
        outcome.exit_code == 0)
        version = pick_line(outcome.output.data, mark);
    outcome_deinit(&outcome);
    return version;
}

static char *read_line(const char *path)
{
    char *text = NULL;
    size_t length;
    if (file_read(path, VERSION_OUTPUT_BYTES, &text, &length, NULL) < 0)
        return NULL;
    char *line = pick_line(text, NULL);
    mem_free(text);
    return line;
}

static void write_note(char *note, const char *version)
{
    char *slash = strrchr(note, '/');
    *slash = '\0';
    int made = file_make_directories(note, 0700, NULL);
    *slash = '/';
    /* Where it cannot be written, the program is asked again next time. */
    if (made == 0 && file_write_atomic(note, version, strlen(version), 0600, NULL) < 0)
        unlink(note);
}

static char *find_version(const char *path, const char *mark)
{
    char *note = version_note(path);
    char *version = note ? read_line(note) : NULL;
    if (!version) {
        version = run_version(path, mark);
        if (version && note)
            write_note(note, version);
    }
    mem_free(note);
    return version ? version : mem_strdup("unknown version");
}

/* What -march=native depends on: the first processor's make and features. Its clock, number and
 * load are left out, and of a machine with hundreds of processors only one is read. */
static char *describe_cpu(void)
{
    static const char *const kept[] = {
        "vendor_id",  "cpu family", "model",       "model name",      "stepping",
        "cache size", "flags",      "Features",    "CPU implementer", "CPU architecture",
        "CPU part",   "isa",        "CPU variant", "CPU revision",    "uarch",
    };
    char text[CPUINFO_BYTES];
    char name[96] = "";
    struct utsname machine;
    struct hash *hash = hash_new();
    hash_update_string(hash, uname(&machine) == 0 ? machine.machine : "unknown");
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && fgets(text, sizeof text, file) && text[0] != '\n') {
        size_t key = strcspn(text, "\t:");
        for (size_t i = 0; i < COUNT(kept); i++)
            if (strlen(kept[i]) == key && strncmp(text, kept[i], key) == 0)
                hash_update_string(hash, text);
        if (key == strlen("model name") && strncmp(text, "model name", key) == 0) {
            const char *value = text + strcspn(text, ":");
            value += *value == ':';
            value += *value == ' ';
            snprintf(name, sizeof name, "%.*s", (int)strcspn(value, "\n"), value);
        }
    }
    if (file)
        fclose(file);
    char hex[HASH_HEX_BYTES];
    hash_finish(hash, hex);
    return mem_printf("%s [%.12s]", name[0] ? name : machine.machine, hex);
}

struct readable {
    char **items; /* NULL-terminated */
    size_t count;
};

static bool lies_in(const char *path, const char *directory)
{
    size_t length = strlen(directory);
    return strncmp(path, directory, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* Adds what exists and is not covered yet. */
static void readable_add(struct readable *readable, const char *path)
{
    struct stat facts;
    if (lstat(path, &facts) < 0)
        return;
    for (size_t i = 0; i < readable->count; i++)
        if (lies_in(path, readable->items[i]))
            return;
    readable->items = mem_resize(readable->items, (readable->count + 2) * sizeof *readable->items);
    readable->items[readable->count++] = mem_strdup(path);
    readable->items[readable->count] = NULL;
}

/* The tree that a program was installed in: /opt/gcc-13 of /opt/gcc-13/bin/gcc. The system's own
 * tree is listed piece by piece, a package store as a whole (its programs point all over it). */
static void readable_add_tree(struct readable *readable, const char *program)
{
    static const char *const stores[] = {"/nix/store", "/gnu/store"};
    char real[PATH_MAX];
    if (!realpath(program, real))
        return;
    for (size_t i = 0; i < COUNT(stores); i++)
        if (lies_in(real, stores[i])) {
            readable_add(readable, stores[i]);
            return;
        }
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(real, '/');
        if (!slash || slash == real)
            return;
        *slash = '\0';
    }
    if (strcmp(real, "/usr") != 0)
        readable_add(readable, real);
}

/* Adds the trees of the programs of the same name that a script mentions: Debian and many an
 * administrator put one in front of nvcc. false: `program` is no such script. */
static bool readable_add_wrapped(struct readable *readable, const char *program)
{
    static const char separators[] = " \t\n\"'`$(){};";
    char real[PATH_MAX];
    char *text = NULL;
    size_t count;
    bool found = false;
    if (!realpath(program, real) || file_read(real, WRAPPER_BYTES, &text, &count, NULL) < 0)
        return false;
    char *rest = NULL;
    char *word = strncmp(text, "#!", 2) == 0 ? strtok_r(text, separators, &rest) : NULL;
    for (; word; word = strtok_r(NULL, separators, &rest))
        if (word[0] == '/' && strcmp(file_basename(word), file_basename(real)) == 0 &&
            is_program(word)) {
            readable_add_tree(readable, word);
            found = true;
        }
    mem_free(text);
    return found;
}

/* A program that is reached through symbolic links needs each link in the chain to be readable. */
static void readable_add_program(struct readable *readable, const char *program)
{
    char *at = mem_strdup(program);
    for (int hop = 0; at && hop < 16; hop++) {
        char target[PATH_MAX];
        readable_add(readable, at);
        ssize_t length = readlink(at, target, sizeof target - 1);
        if (length <= 0)
            break;
        target[length] = '\0';
        int directory = target[0] == '/' ? 0 : (int)(file_basename(at) - at);
        char *next = mem_printf("%.*s%s", directory, at, target);
        mem_free(at);
        at = canonical_path(next);
        mem_free(next);
    }
    mem_free(at);
    if (!readable_add_wrapped(readable, program))
        readable_add_tree(readable, program);
}

static char **find_readable(const struct toolchain *toolchain)
{
    static const char *const system[] = {
        "/usr/bin",         "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec",
        "/usr/include",     "/bin",     "/lib",       "/lib64",     "/etc/alternatives",
        "/etc/ld.so.cache",
    };
    struct readable readable = {.items = mem_alloc(sizeof(char *))};
    if (toolchain->root) {
        readable_add(&readable, toolchain->root);
        return readable.items;
    }
    for (size_t i = 0; i < COUNT(system); i++)
        readable_add(&readable, system[i]);
    if (toolchain->cc)
        readable_add_program(&readable, toolchain->cc);
    if (toolchain->cxx)
        readable_add_program(&readable, toolchain->cxx);
    if (toolchain->nvcc)
        readable_add_program(&readable, toolchain->nvcc);
    return readable.items;
}

static void use_bundled(struct toolchain *toolchain, const char *bundled)
{
    char root[PATH_MAX];
    if (!bundled || !realpath(bundled, root))
        return;
    char *cc = mem_printf("%s/usr/bin/gcc", root);
    if (!is_program(cc)) {
        mem_free(cc);
        return;
    }
    char *note = mem_printf("%s/version", root);
    toolchain->cc = cc;
    toolchain->root = mem_strdup(root);
    toolchain->cc_version = read_line(note);
    toolchain->cxx = mem_printf("%s/usr/bin/g++", root);
    toolchain->cxx_version = read_line(note);
    mem_free(note);
}

void toolchain_init(struct toolchain *toolchain, const char *bundled)
{
    const char *named = getenv("WARPGYM_CC");
    *toolchain = (struct toolchain){.cc = take_canonical(find_cc()), .cpu = describe_cpu()};
    if (!toolchain->cc && !(named && *named))
        use_bundled(toolchain, bundled);
    if (toolchain->cc && !toolchain->cc_version)
        toolchain->cc_version = find_version(toolchain->cc, NULL);
    if (!toolchain->root)
        toolchain->cxx = take_canonical(find_cxx(toolchain->cc));
    if (toolchain->cxx && !toolchain->cxx_version)
        toolchain->cxx_version = find_version(toolchain->cxx, NULL);
    /* nvcc needs the system's C++ compiler. */
    if (!toolchain->root)
        toolchain->nvcc = take_canonical(find_nvcc());
    if (toolchain->nvcc)
        toolchain->nvcc_version = find_version(toolchain->nvcc, "release");
    toolchain->readable = find_readable(toolchain);
}

void toolchain_find_nvrtc(struct toolchain *toolchain, const char *named, const char *python)
{
    struct nvrtc_place place;
    nvrtc_find(&place, named, toolchain->nvcc, python);
    toolchain->nvrtc = place.library;
    toolchain->nvrtc_includes = mem_copy(place.includes, sizeof place.includes);
}

static void free_paths(char **paths)
{
    for (char **path = paths; path && *path; path++)
        mem_free(*path);
    mem_free(paths);
}

void toolchain_deinit(struct toolchain *toolchain)
{
    free_paths(toolchain->readable);
    free_paths(toolchain->nvrtc_includes);
    mem_free(toolchain->nvrtc);
    mem_free(toolchain->cc);
    mem_free(toolchain->cc_version);
    mem_free(toolchain->cxx);
    mem_free(toolchain->cxx_version);
    mem_free(toolchain->nvcc);
    mem_free(toolchain->nvcc_version);
    mem_free(toolchain->cpu);
    mem_free(toolchain->root);
    *toolchain = (struct toolchain){0};
}

/* Both at once: with gcc alone, Debian leaves out the C library's headers. */
#define INSTALL "`apt-get install gcc g++` or `dnf install gcc gcc-c++` brings it"

int toolchain_has(const struct toolchain *toolchain, enum compile_kind kind, struct err *err)
{
    static const char no_c[] = "there is no C compiler: " INSTALL ", or name one in WARPGYM_CC";
    const struct {
        const char *compiler, *other, *problem;
    } kinds[] = {
        [COMPILE_C] = {toolchain->cc, NULL, no_c},
        [COMPILE_C_DOUBLE] = {toolchain->cc, NULL, no_c},
        [COMPILE_CPP] = {toolchain->cxx, NULL,
                         "there is no C++ compiler: " INSTALL ", or name one in WARPGYM_CXX"},
        [COMPILE_CUDA] = {toolchain->nvcc, NULL,
                          "there is no CUDA compiler: install nvcc, or name one in WARPGYM_NVCC"},
        [COMPILE_CUBIN] = {toolchain->nvrtc, toolchain->nvcc,
                           "there is no CUDA compiler: install NVRTC (of a CUDA toolkit, or "
                           "Python's nvidia-cuda-nvrtc) or nvcc"},
    };
    if (kinds[kind].compiler || kinds[kind].other)
        return 0;
    return err_set(err, ERR_MISSING, "%s", kinds[kind].problem);
}
