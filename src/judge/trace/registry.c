#include "judge/trace/registry.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HANDLES 65536 /* a power of two */
#define NAMES 32768   /* likewise */
#define LAUNCHES (2 * TRACE_RECORDS)
#define RAW_NAME_BYTES 4096

struct handle {
    const void *handle; /* NULL: a free place */
    uint32_t source, name;
};

struct name {
    uint64_t hash;       /* 0: a free place */
    uint32_t raw, shown; /* text; 0: not written yet */
    uint32_t origins;    /* bit mask of the code that is called so */
    uint32_t source;     /* of the latest of it */
};

struct launch {
    uint32_t correlation, source;
};

static struct registry {
    struct handle *handles;
    struct name *names;
    struct trace_source *sources;
    struct launch *launches;
    struct trace_record *records;
    char *text;
    uint32_t handle_count, name_count, source_count, launch_count, record_count, text_bytes;
    uint32_t failed;
    uint64_t launched, lost;
} all;

static void *make_table(size_t count, size_t bytes)
{
    return calloc(count, bytes); /* pages that are not written cost nothing */
}

bool registry_init(void)
{
    if (all.text)
        return true;
    all.handles = make_table(HANDLES, sizeof *all.handles);
    all.names = make_table(NAMES, sizeof *all.names);
    all.sources = make_table(TRACE_SOURCES, sizeof *all.sources);
    all.launches = make_table(LAUNCHES, sizeof *all.launches);
    all.records = make_table(TRACE_RECORDS, sizeof *all.records);
    all.text = make_table(TRACE_TEXT_BYTES, 1);
    all.source_count = 1; /* REGISTRY_NONE */
    all.text_bytes = 1;   /* "" */
    return all.handles && all.names && all.sources && all.launches && all.records && all.text;
}

void registry_begin(void)
{
    all.launch_count = all.record_count = 0;
    all.launched = all.lost = all.failed = 0;
}

/* 0 when there is no room. */
static uint32_t keep_text(const char *text, size_t bytes)
{
    uint32_t at = all.text_bytes;
    if (bytes == 0 || bytes + 1 > TRACE_TEXT_BYTES - at)
        return 0;
    memcpy(all.text + at, text, bytes);
    all.text[at + bytes] = '\0';
    all.text_bytes += (uint32_t)bytes + 1;
    return at;
}

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash ? hash : 1;
}

static uint32_t find_name(const char *text)
{
    uint64_t hash = text ? hash_text(text) : 0;
    uint32_t at = (uint32_t)(hash ^ hash >> 32) & (NAMES - 1);
    if (!text)
        return REGISTRY_NONE;
    for (;; at = (at + 1) & (NAMES - 1)) {
        struct name *name = &all.names[at];
        if (at == REGISTRY_NONE) /* its number means that there is none */
            continue;
        if (name->hash == hash)
            return at;
        if (name->hash == 0)
            break;
    }
    if (all.name_count >= NAMES / 2)
        return REGISTRY_NONE;
    all.name_count++;
    all.names[at] = (struct name){.hash = hash,
                                  .raw = keep_text(text, strnlen(text, RAW_NAME_BYTES))};
    return at;
}

/* The place of a handle, or the free one where it belongs; NULL: full. */
static struct handle *find_handle(const void *handle)
{
    uint64_t mixed = (uint64_t)(uintptr_t)handle * 0x9e3779b97f4a7c15u;
    for (uint32_t at = (uint32_t)(mixed >> 48) & (HANDLES - 1);; at = (at + 1) & (HANDLES - 1)) {
        struct handle *one = &all.handles[at];
        if (one->handle == handle || (!one->handle && all.handle_count < HANDLES / 2))
            return one;
        if (!one->handle)
            return NULL;
    }
}

/* The driver gives a handle anew when what it stood for was unloaded: the latest counts. */
static void put_entry(const void *handle, uint32_t source, uint32_t name)
{
    struct handle *place = handle ? find_handle(handle) : NULL;
    if (!place)
        return;
    all.handle_count += !place->handle;
    *place = (struct handle){.handle = handle, .source = source, .name = name};
    if (name == REGISTRY_NONE)
        return;
    all.names[name].origins |= 1u << all.sources[source].origin;
    all.names[name].source = source;
}

static uint32_t find_source(const struct origin *origin)
{
    for (uint32_t i = 1; i < all.source_count; i++)
        if (all.sources[i].origin == origin->origin &&
            all.sources[i].evidence == origin->evidence &&
            strcmp(all.text + all.sources[i].object, origin->object.path) == 0)
            return i;
    if (all.source_count == TRACE_SOURCES)
        return REGISTRY_NONE;
    all.sources[all.source_count] = (struct trace_source){
        .origin = origin->origin,
        .evidence = origin->evidence,
        .object = keep_text(origin->object.path, strlen(origin->object.path)),
    };
    return all.source_count++;
}

void registry_loaded(const void *handle, const struct origin *origin)
{
    if (all.text)
        put_entry(handle, find_source(origin), REGISTRY_NONE);
}

void registry_derived(const void *handle, const void *of, const char *name)
{
    if (!all.text)
        return;
    const struct handle *from = of ? find_handle(of) : NULL;
    uint32_t source = from ? from->source : REGISTRY_NONE;
    put_entry(handle, source, name ? find_name(name) : from ? from->name : REGISTRY_NONE);
}

bool registry_knows(const void *handle)
{
    const struct handle *place = all.text ? find_handle(handle) : NULL;
    return place && place->handle && place->source != REGISTRY_NONE;
}

void registry_named(const void *handle, const char *name)
{
    const struct handle *place = all.text && handle ? find_handle(handle) : NULL;
    if (place && place->handle && place->name == REGISTRY_NONE)
        put_entry(handle, place->source, find_name(name));
}

void registry_failed(void)
{
    all.failed++;
}

void registry_launched(const void *handle, uint32_t correlation)
{
    const struct handle *place = handle ? find_handle(handle) : NULL;
    all.launched += handle != NULL; /* not graphs: their records know them */
    if (all.launch_count < LAUNCHES)
        all.launches[all.launch_count++] = (struct launch){.correlation = correlation,
                                                           .source = place ? place->source
                                                                           : REGISTRY_NONE};
}

void registry_lost(uint64_t records)
{
    all.lost += records;
}

static struct trace_record *new_record(void)
{
    if (all.record_count < TRACE_RECORDS)
        return &all.records[all.record_count++];
    all.lost++;
    return NULL;
}

void registry_kernel(const struct cupti_kernel *kernel)
{
    struct trace_record *record = new_record();
    if (!record)
        return;
    *record = (struct trace_record){
        .start_ns = kernel->start_ns,
        .end_ns = kernel->end_ns,
        .kind = TRACE_KERNEL,
        .name = find_name(kernel->name),
        .device = kernel->device,
        .stream = kernel->stream,
        .correlation = kernel->correlation,
        .graph = kernel->graph_node ? (kernel->graph ? kernel->graph : 1) : 0,
        .registers = kernel->registers,
        .static_bytes = (uint32_t)kernel->static_bytes,
        .dynamic_bytes = (uint32_t)kernel->dynamic_bytes,
        .local_bytes = kernel->local_bytes,
    };
    for (int i = 0; i < 3; i++) {
        record->grid[i] = (uint32_t)kernel->grid[i];
        record->block[i] = (uint32_t)kernel->block[i];
    }
}

void registry_copy(const struct cupti_copy *copy)
{
    struct trace_record *record = new_record();
    if (record)
        *record = (struct trace_record){
            .start_ns = copy->start_ns,
            .end_ns = copy->end_ns,
            .bytes = copy->bytes,
            .kind = copy->kind == CUPTI_SET ? TRACE_SET : TRACE_COPY,
            .device = copy->device,
            .stream = copy->stream,
            .correlation = copy->correlation,
            .direction = copy->kind == CUPTI_SET ? 0 : copy->kinds[0],
        };
}

static int by_correlation(const void *a, const void *b)
{
    uint32_t left = ((const struct launch *)a)->correlation;
    uint32_t right = ((const struct launch *)b)->correlation;
    return (left > right) - (left < right);
}

static void match_record(struct trace_record *record)
{
    struct launch wanted = {.correlation = record->correlation};
    const struct name *name = &all.names[record->name];
    const struct launch *launch = record->graph ? NULL
                                                : bsearch(&wanted, all.launches, all.launch_count,
                                                          sizeof *all.launches, by_correlation);
    record->match = TRACE_NO_MATCH;
    if (launch && launch->source != REGISTRY_NONE) {
        record->source = launch->source;
        record->match = TRACE_MATCH_LAUNCH;
    } else if (record->name != REGISTRY_NONE && name->source != REGISTRY_NONE &&
               (name->origins & (name->origins - 1)) == 0) {
        record->source = name->source;
        record->match = TRACE_MATCH_NAME;
    }
}

/* As C++ writes it, where this process has a library that knows how; cut to what is shown. */
static uint32_t show_name(struct name *name)
{
    static char *(*demangle)(const char *, char *, size_t *, int *);
    const char *raw = all.text + name->raw;
    int status = 0;
    if (name->shown)
        return name->shown;
    if (!demangle) {
        void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_NOLOAD);
        *(void **)&demangle = library ? dlsym(library, "__cxa_demangle") : NULL;
    }
    char *plain = demangle && raw[0] == '_' ? demangle(raw, NULL, NULL, &status) : NULL;
    const char *text = plain ? plain : raw;
    name->shown = keep_text(text, strnlen(text, TRACE_NAME_BYTES - 1));
    free(plain);
    return name->shown;
}

static bool write_all(int fd, const void *bytes, size_t count)
{
    const char *at = bytes;
    while (count > 0) {
        ssize_t written = write(fd, at, count);
        if (written <= 0)
            return false;
        at += written;
        count -= (size_t)written;
    }
    return true;
}

bool registry_write(int fd, struct trace_header *header)
{
    qsort(all.launches, all.launch_count, sizeof *all.launches, by_correlation);
    for (uint32_t i = 0; i < all.record_count; i++) {
        match_record(&all.records[i]);
        all.records[i].name = all.records[i].name ? show_name(&all.names[all.records[i].name]) : 0;
    }
    header->magic = TRACE_MAGIC;
    header->sources = all.source_count;
    header->records = all.record_count;
    header->text_bytes = all.text_bytes;
    header->failed = all.failed;
    header->launches = all.launched;
    header->lost = all.lost;
    all.record_count = 0; /* their names are no longer ours */
    return lseek(fd, 0, SEEK_SET) == 0 && ftruncate(fd, 0) == 0 &&
           write_all(fd, header, sizeof *header) &&
           write_all(fd, all.sources, header->sources * sizeof *all.sources) &&
           write_all(fd, all.records, header->records * sizeof *all.records) &&
           write_all(fd, all.text, header->text_bytes);
}
