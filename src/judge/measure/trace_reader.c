#include "judge/measure/trace_reader.h"

#include "base/file.h"
#include "base/limits.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORD_NS_MAX (UINT64_C(3600) * 1000000000) /* an hour: longer than any pass */

static int broken_trace(struct err *err, const char *what)
{
    return err_set(err, ERR_PROTOCOL, "the launch trace is damaged: %s", what);
}

static int check_sources(const struct trace_stream *stream, struct err *err)
{
    for (uint32_t i = 0; i < stream->header.sources; i++) {
        const struct trace_source *source = &stream->sources[i];
        if (source->origin >= TRACE_ORIGINS || source->evidence >= TRACE_EVIDENCES ||
            source->object >= stream->header.text_bytes)
            return broken_trace(err, "a source of code says something impossible");
    }
    return 0;
}

static int check_records(const struct trace_stream *stream, struct err *err)
{
    for (uint32_t i = 0; i < stream->header.records; i++) {
        const struct trace_record *record = &stream->records[i];
        if (record->kind >= TRACE_KINDS || record->source >= stream->header.sources ||
            record->name >= stream->header.text_bytes || record->match >= TRACE_MATCHES)
            return broken_trace(err, "a launch refers to what is not there");
        if (record->end_ns < record->start_ns || record->end_ns - record->start_ns > RECORD_NS_MAX)
            return broken_trace(err, "a launch ends before it begins, or takes more than an hour");
    }
    return 0;
}

/* Offsets below `text_bytes` are strings, because the text begins and ends with a NUL. */
int trace_stream_open(const char *bytes, size_t count, struct trace_stream *stream, struct err *err)
{
    struct trace_header *header = &stream->header;
    if (count < sizeof *header)
        return broken_trace(err, "it has no header");
    memcpy(header, bytes, sizeof *header);
    if (header->magic != TRACE_MAGIC)
        return broken_trace(err, "it is no trace");
    if (header->sources == 0 || header->sources > TRACE_SOURCES ||
        header->records > TRACE_RECORDS || header->text_bytes == 0 ||
        header->text_bytes > TRACE_TEXT_BYTES)
        return broken_trace(err, "its sizes are out of bounds");
    size_t sources_bytes = header->sources * sizeof *stream->sources;
    size_t records_bytes = header->records * sizeof *stream->records;
    if (count != sizeof *header + sources_bytes + records_bytes + header->text_bytes)
        return broken_trace(err, "it is not as long as it says");
    const char *at = bytes + sizeof *header;
    stream->sources = (const void *)at;
    stream->records = (const void *)(at + sources_bytes);
    stream->text = at + sources_bytes + records_bytes;
    if (stream->text[0] || stream->text[header->text_bytes - 1])
        return broken_trace(err, "its text has no end");
    int result = check_sources(stream, err);
    return result == 0 ? check_records(stream, err) : result;
}

int trace_stream_load(int fd, char **bytes, size_t *count, struct err *err)
{
    struct stat facts;
    if (fstat(fd, &facts) < 0 || !S_ISREG(facts.st_mode) || lseek(fd, 0, SEEK_SET) < 0)
        return broken_trace(err, "it is no file");
    return file_read_fd(fd, "the launch trace", LIMIT_TRACE_BYTES, bytes, count, err);
}

double trace_record_us(const struct trace_record *record)
{
    return (double)(record->end_ns - record->start_ns) * 1e-3;
}
