/* document: arguments of what queue.h says of documents, for both stores. */
#include "base/limits.h"
#include "base/mem.h"
#include "queue/check.h"
#include "queue/store.h"

#include <inttypes.h>

int queue_document_put(struct queue *queue, const char *name, const void *bytes, size_t count,
                       int64_t version, int64_t keep_ms, bool *written, struct err *err)
{
    *written = false;
    int result = queue_check_id("name", name, err);
    if (result < 0)
        return result;
    if (count > LIMIT_QUEUE_BODY_BYTES)
        return err_set(err, ERR_LIMIT, "queue: a document of %zu bytes; %zu are the limit", count,
                       LIMIT_QUEUE_BODY_BYTES);
    if (version < 0)
        return err_set(err, ERR_INPUT, "queue: a document has no version %" PRId64, version);
    if (keep_ms < 1 || keep_ms > LIMIT_QUEUE_DOCUMENT_MS)
        return err_set(err, ERR_INPUT, "queue: a document is kept for 1 to %" PRId64 " ms",
                       LIMIT_QUEUE_DOCUMENT_MS);
    return queue->store->document_put(queue, name, bytes, count, version, keep_ms, written, err);
}

int queue_document_get(struct queue *queue, const char *name, struct queue_document *document,
                       struct err *err)
{
    *document = (struct queue_document){0};
    int result = queue_check_id("name", name, err);
    if (result == 0)
        result = queue->store->document_get(queue, name, document, err);
    if (result < 0)
        queue_document_deinit(document);
    return result;
}

void queue_document_deinit(struct queue_document *document)
{
    mem_free(document->bytes);
    *document = (struct queue_document){0};
}

int queue_document_remove(struct queue *queue, const char *name, bool *removed, struct err *err)
{
    *removed = false;
    int result = queue_check_id("name", name, err);
    return result < 0 ? result : queue->store->document_remove(queue, name, removed, err);
}
