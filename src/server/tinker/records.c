#include "server/tinker/records.h"

#include "base/file.h"
#include "base/mem.h"
#include "server/tinker/names.h"
#include "server/tinker/state.h"

#include <stdio.h>

#define MOST_BYTES ((size_t)1 << 20)

static char *record_path(const struct tinker_service *service, const char *kind, const char *id)
{
    return mem_printf("%s/.%s/%s.json", service->directory, kind, id);
}

int tinker_record_write(const struct tinker_service *service, const char *kind, const char *id,
                        const json_t *record, struct err *err)
{
    char *path = record_path(service, kind, id), *parent = file_parent(path);
    int result = file_make_directories(parent, 0755, err);
    if (result == 0)
        result = json_file_write(path, record, true, err);
    mem_free(parent);
    mem_free(path);
    return result;
}

json_t *tinker_record_read(const struct tinker_service *service, const char *kind, const char *id)
{
    json_t *record = NULL;
    char *path = record_path(service, kind, id);
    if (json_file_read(path, MOST_BYTES, &record, NULL) < 0)
        record = NULL;
    mem_free(path);
    return record;
}

void tinker_record_remove(const struct tinker_service *service, const char *kind, const char *id)
{
    char *path = record_path(service, kind, id);
    (void)!remove(path);
    mem_free(path);
}

struct each_record {
    struct tinker_service *service;
    void (*one)(struct tinker_service *service, const char *id);
};

static void call_record(void *context, const char *name)
{
    const struct each_record *each = context;
    each->one(each->service, name);
}

void tinker_records_each(struct tinker_service *service, const char *kind,
                         void (*one)(struct tinker_service *service, const char *id))
{
    char *path = mem_printf("%s/.%s", service->directory, kind);
    struct each_record each = {service, one};
    tinker_names_each(path, true, call_record, &each);
    mem_free(path);
}
