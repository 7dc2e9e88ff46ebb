#include "rl/run/event_file.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_COUNTED = 2, WIRE_FIXED32 = 5 };

static void append_varint(struct buf *buf, uint64_t value)
{
    unsigned char bytes[10];
    size_t count = 0;
    do {
        bytes[count] = (unsigned char)(value & 127);
        value >>= 7;
        bytes[count++] |= value ? 128 : 0;
    } while (value);
    buf_append(buf, bytes, count);
}

static void append_key(struct buf *buf, unsigned field, enum wire wire)
{
    append_varint(buf, (uint64_t)field << 3 | wire);
}

static void append_little_endian(struct buf *buf, uint64_t bits, size_t count)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)(bits >> 8 * i);
    buf_append(buf, bytes, count);
}

static void append_double(struct buf *buf, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    append_little_endian(buf, bits, sizeof bits);
}

void protobuf_varint(struct buf *buf, unsigned field, uint64_t value)
{
    append_key(buf, field, WIRE_VARINT);
    append_varint(buf, value);
}

void protobuf_double(struct buf *buf, unsigned field, double value)
{
    append_key(buf, field, WIRE_FIXED64);
    append_double(buf, value);
}

void protobuf_float(struct buf *buf, unsigned field, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    append_key(buf, field, WIRE_FIXED32);
    append_little_endian(buf, bits, sizeof bits);
}

static void append_bytes(struct buf *buf, unsigned field, const void *bytes, size_t count)
{
    append_key(buf, field, WIRE_COUNTED);
    append_varint(buf, count);
    buf_append(buf, bytes, count);
}

void protobuf_string(struct buf *buf, unsigned field, const char *text)
{
    append_bytes(buf, field, text, strlen(text));
}

void protobuf_message(struct buf *buf, unsigned field, const struct buf *message)
{
    append_bytes(buf, field, message->data, message->len);
}

void protobuf_doubles(struct buf *buf, unsigned field, const double *values, size_t count)
{
    append_key(buf, field, WIRE_COUNTED);
    append_varint(buf, count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        append_double(buf, values[i]);
}

#define BUCKETS 30
#define FRAME_BYTES ((size_t)16)    /* length, its checksum, the bytes' checksum */
#define ENVELOPE_BYTES ((size_t)64) /* of one nested message, at most */
#define NAMES_TRIED 100
#define VALUE_BYTES_MAX (LIMIT_TFEVENT_BYTES + ENVELOPE_BYTES * 4)

/* Field numbers, from TensorBoard's and TensorFlow's .proto files. */
enum { EVENT_WALL_TIME = 1, EVENT_STEP, EVENT_FILE_VERSION, EVENT_SUMMARY = 5, EVENT_SESSION = 7 };
enum { SESSION_STATUS = 1, SESSION_START = 1 };
enum { SUMMARY_VALUE = 1 };
enum { VALUE_TAG = 1, VALUE_SIMPLE, VALUE_HISTOGRAM = 5, VALUE_TENSOR = 8, VALUE_METADATA = 9 };
enum {
    HISTOGRAM_MIN = 1,
    HISTOGRAM_MAX,
    HISTOGRAM_COUNT,
    HISTOGRAM_SUM,
    HISTOGRAM_SQUARES,
    HISTOGRAM_LIMITS,
    HISTOGRAM_BUCKETS
};
enum { METADATA_PLUGIN = 1, METADATA_CLASS = 4, CLASS_TENSOR = 2 };
enum { PLUGIN_NAME = 1, PLUGIN_CONTENT };
enum { TENSOR_TYPE = 1, TENSOR_SHAPE, TENSOR_STRINGS = 8, TYPE_FLOAT = 1, TYPE_STRING = 7 };
enum { SHAPE_DIMENSION = 2, DIMENSION_SIZE = 1 };
enum { HPARAMS_VERSION = 1, HPARAMS_START = 3 };
enum { START_HPARAMS = 1, START_GROUP = 4, START_TIME = 5 };
enum { ENTRY_KEY = 1, ENTRY_VALUE, NUMBER_VALUE = 2, STRING_VALUE = 3 };

uint32_t event_file_crc32c(const void *bytes, size_t count)
{
    /* For each half byte, of the reflected polynomial 0x82f63b78. */
    static const uint32_t table[16] = {0x00000000U, 0x105ec76fU, 0x20bd8edeU, 0x30e349b1U,
                                       0x417b1dbcU, 0x5125dad3U, 0x61c69362U, 0x7198540dU,
                                       0x82f63b78U, 0x92a8fc17U, 0xa24bb5a6U, 0xb21572c9U,
                                       0xc38d26c4U, 0xd3d3e1abU, 0xe330a81aU, 0xf36e6f75U};
    const unsigned char *at = bytes;
    uint32_t crc = ~0U;
    for (size_t i = 0; i < count; i++) {
        crc ^= at[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

uint32_t event_file_masked_crc(const void *bytes, size_t count)
{
    uint32_t crc = event_file_crc32c(bytes, count);
    return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

static void store_little_endian(unsigned char *at, uint64_t value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

/* A truncated record may only be at the end of its file: remove it. */
static int write_whole(struct event_file *events, const void *bytes, size_t count, struct err *err)
{
    off_t before = lseek(events->fd, 0, SEEK_END);
    int result = file_write_fd(events->fd, events->path, bytes, count, err);
    if (result < 0 && before >= 0 && ftruncate(events->fd, before) < 0)
        err_prefix(err, "and the incomplete record stays");
    return result;
}

static int write_record(struct event_file *events, const struct buf *event, struct err *err)
{
    if (events->fd < 0)
        return err_set(err, ERR_INTERNAL, "the event file is closed");
    unsigned char *record = mem_alloc(event->len + FRAME_BYTES);
    store_little_endian(record, event->len, 8);
    store_little_endian(record + 8, event_file_masked_crc(record, 8), 4);
    memcpy(record + 12, event->data, event->len);
    store_little_endian(record + 12 + event->len, event_file_masked_crc(event->data, event->len),
                        4);
    pthread_mutex_lock(&events->lock);
    int result = write_whole(events, record, event->len + FRAME_BYTES, err);
    pthread_mutex_unlock(&events->lock);
    mem_free(record);
    return result;
}

static void begin_event(struct buf *event, uint64_t step)
{
    buf_init(event, VALUE_BYTES_MAX);
    protobuf_double(event, EVENT_WALL_TIME, (double)clock_wall_ms() / 1000);
    protobuf_varint(event, EVENT_STEP, step);
}

static int write_value(struct event_file *events, uint64_t step, const struct buf *value,
                       struct err *err)
{
    struct buf summary;
    struct buf event;
    if (value->len > LIMIT_TFEVENT_BYTES)
        return err_set(err, ERR_LIMIT, "%s: one entry is larger than %zu bytes", events->path,
                       LIMIT_TFEVENT_BYTES);
    buf_init(&summary, VALUE_BYTES_MAX);
    protobuf_message(&summary, SUMMARY_VALUE, value);
    begin_event(&event, step);
    protobuf_message(&event, EVENT_SUMMARY, &summary);
    int result = write_record(events, &event, err);
    buf_deinit(&event);
    buf_deinit(&summary);
    return result;
}

/* Readers reject a whole file for one tag that is not UTF-8. */
static int begin_value(struct buf *value, const char *tag, struct err *err)
{
    if (!utf8_is_valid(tag, strlen(tag)))
        return err_set(err, ERR_INPUT, "a tag of an event file must be UTF-8");
    buf_init(value, VALUE_BYTES_MAX);
    protobuf_string(value, VALUE_TAG, tag);
    return 0;
}

int event_file_scalar(struct event_file *events, uint64_t step, const char *tag, double number,
                      struct err *err)
{
    struct buf value;
    int result = begin_value(&value, tag, err);
    if (result < 0)
        return result;
    protobuf_float(&value, VALUE_SIMPLE, (float)number);
    result = write_value(events, step, &value, err);
    buf_deinit(&value);
    return result;
}

/* Names the TensorBoard plugin that shows the tensor. */
static void put_plugin(struct buf *value, const char *name, const struct buf *content)
{
    struct buf plugin;
    struct buf metadata;
    buf_init(&plugin, VALUE_BYTES_MAX);
    buf_init(&metadata, VALUE_BYTES_MAX);
    protobuf_string(&plugin, PLUGIN_NAME, name);
    if (content)
        protobuf_message(&plugin, PLUGIN_CONTENT, content);
    protobuf_message(&metadata, METADATA_PLUGIN, &plugin);
    protobuf_varint(&metadata, METADATA_CLASS, CLASS_TENSOR);
    protobuf_message(value, VALUE_METADATA, &metadata);
    buf_deinit(&metadata);
    buf_deinit(&plugin);
}

/* A vector of `size` strings or floats; `text` is its only element, or NULL. */
static void put_tensor(struct buf *value, unsigned type, size_t size, const char *text)
{
    struct buf dimension;
    struct buf shape;
    struct buf tensor;
    buf_init(&dimension, ENVELOPE_BYTES);
    buf_init(&shape, ENVELOPE_BYTES);
    buf_init(&tensor, VALUE_BYTES_MAX);
    protobuf_varint(&dimension, DIMENSION_SIZE, size);
    protobuf_message(&shape, SHAPE_DIMENSION, &dimension);
    protobuf_varint(&tensor, TENSOR_TYPE, type);
    protobuf_message(&tensor, TENSOR_SHAPE, &shape);
    if (text)
        protobuf_string(&tensor, TENSOR_STRINGS, text);
    protobuf_message(value, VALUE_TENSOR, &tensor);
    buf_deinit(&tensor);
    buf_deinit(&shape);
    buf_deinit(&dimension);
}

int event_file_text(struct event_file *events, uint64_t step, const char *tag, const char *text,
                    struct err *err)
{
    struct buf value;
    int result = begin_value(&value, tag, err);
    if (result < 0)
        return result;
    if (strlen(text) > LIMIT_TFEVENT_BYTES) {
        buf_deinit(&value);
        return err_set(err, ERR_LIMIT, "%s: a text of more than %zu bytes", events->path,
                       LIMIT_TFEVENT_BYTES);
    }
    put_plugin(&value, "text", NULL);
    put_tensor(&value, TYPE_STRING, 1, text);
    result = write_value(events, step, &value, err);
    buf_deinit(&value);
    return result;
}

struct histogram {
    double min, max, count, sum, squares;
    double limits[BUCKETS], buckets[BUCKETS];
    size_t bucket_count;
};

static void measure_histogram(struct histogram *histogram, const double *values, size_t count)
{
    *histogram = (struct histogram){.min = INFINITY, .max = -INFINITY};
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i])) {
            histogram->min = fmin(histogram->min, values[i]);
            histogram->max = fmax(histogram->max, values[i]);
            histogram->sum += values[i];
            histogram->squares += values[i] * values[i];
            histogram->count++;
        }
}

static void fill_buckets(struct histogram *histogram, const double *values, size_t count)
{
    double width = histogram->max / BUCKETS - histogram->min / BUCKETS;
    histogram->bucket_count = width > 0 ? BUCKETS : 1;
    for (size_t i = 0; i < histogram->bucket_count; i++)
        histogram->limits[i] = histogram->min + width * (double)(i + 1);
    histogram->limits[histogram->bucket_count - 1] = histogram->max;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            continue;
        double at = width > 0 ? (values[i] / width - histogram->min / width) : 0;
        size_t bucket = at >= BUCKETS - 1 ? histogram->bucket_count - 1 : (size_t)fmax(at, 0);
        histogram->buckets[bucket]++;
    }
}

int event_file_histogram(struct event_file *events, uint64_t step, const char *tag,
                         const double *values, size_t count, struct err *err)
{
    struct histogram histogram;
    struct buf message;
    struct buf value;
    measure_histogram(&histogram, values, count);
    if (histogram.count == 0)
        return 0;
    int result = begin_value(&value, tag, err);
    if (result < 0)
        return result;
    fill_buckets(&histogram, values, count);
    buf_init(&message, VALUE_BYTES_MAX);
    protobuf_double(&message, HISTOGRAM_MIN, histogram.min);
    protobuf_double(&message, HISTOGRAM_MAX, histogram.max);
    protobuf_double(&message, HISTOGRAM_COUNT, histogram.count);
    protobuf_double(&message, HISTOGRAM_SUM, histogram.sum);
    protobuf_double(&message, HISTOGRAM_SQUARES, histogram.squares);
    protobuf_doubles(&message, HISTOGRAM_LIMITS, histogram.limits, histogram.bucket_count);
    protobuf_doubles(&message, HISTOGRAM_BUCKETS, histogram.buckets, histogram.bucket_count);
    protobuf_message(&value, VALUE_HISTOGRAM, &message);
    result = write_value(events, step, &value, err);
    buf_deinit(&message);
    buf_deinit(&value);
    return result;
}

/* One entry of a map from names to google.protobuf.Value. */
static void put_hparam(struct buf *start, const struct event_file_hparam *hparam)
{
    struct buf value;
    struct buf entry;
    buf_init(&value, VALUE_BYTES_MAX);
    buf_init(&entry, VALUE_BYTES_MAX);
    if (hparam->text)
        protobuf_string(&value, STRING_VALUE, hparam->text);
    else
        protobuf_double(&value, NUMBER_VALUE, hparam->value);
    protobuf_string(&entry, ENTRY_KEY, hparam->name);
    protobuf_message(&entry, ENTRY_VALUE, &value);
    protobuf_message(start, START_HPARAMS, &entry);
    buf_deinit(&entry);
    buf_deinit(&value);
}

int event_file_hparams(struct event_file *events, const char *group,
                       const struct event_file_hparam *hparams, size_t count, struct err *err)
{
    struct buf start;
    struct buf content;
    struct buf value;
    int result = begin_value(&value, "_hparams_/session_start_info", err);
    if (result < 0)
        return result;
    buf_init(&start, VALUE_BYTES_MAX);
    buf_init(&content, VALUE_BYTES_MAX);
    for (size_t i = 0; i < count; i++)
        put_hparam(&start, &hparams[i]);
    protobuf_string(&start, START_GROUP, group);
    protobuf_double(&start, START_TIME, (double)clock_wall_ms() / 1000);
    protobuf_varint(&content, HPARAMS_VERSION, 0);
    protobuf_message(&content, HPARAMS_START, &start);
    put_plugin(&value, "hparams", &content);
    put_tensor(&value, TYPE_FLOAT, 0, NULL);
    result = start.len < LIMIT_TFEVENT_BYTES
                 ? write_value(events, 0, &value, err)
                 : err_set(err, ERR_LIMIT, "%s: settings of more than %zu bytes", events->path,
                           LIMIT_TFEVENT_BYTES);
    buf_deinit(&start);
    buf_deinit(&content);
    buf_deinit(&value);
    return result;
}

/* The greatest number of an event file in the directory; 0: none. */
static int64_t last_file_number(const char *directory)
{
    int64_t most = 0;
    DIR *dir = opendir(directory);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (strncmp(entry->d_name, EVENT_FILE_PREFIX, sizeof EVENT_FILE_PREFIX - 1) == 0) {
            long long number = strtoll(entry->d_name + sizeof EVENT_FILE_PREFIX - 1, NULL, 10);
            most = number > most ? number : most;
        }
    if (dir)
        closedir(dir);
    return most;
}

static int create_event_file(struct event_file *events, const char *directory, struct err *err)
{
    for (int tried = 0; tried < NAMES_TRIED; tried++) {
        int64_t now = clock_wall_ms() / 1000;
        int64_t last = last_file_number(directory);
        mem_free(events->path);
        events->path = mem_printf("%s/" EVENT_FILE_PREFIX "%010lld.warpgym", directory,
                                  (long long)(last >= now ? last + 1 : now));
        events->fd = open(events->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
        if (events->fd >= 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    return err_sys(err, errno, "cannot create %s", events->path);
}

static int write_file_header(struct event_file *events, uint64_t first_step, struct err *err)
{
    struct buf event;
    begin_event(&event, 0);
    protobuf_string(&event, EVENT_FILE_VERSION, "brain.Event:2");
    int result = write_record(events, &event, err);
    buf_deinit(&event);
    if (result < 0)
        return result;
    struct buf session;
    buf_init(&session, ENVELOPE_BYTES);
    protobuf_varint(&session, SESSION_STATUS, SESSION_START);
    begin_event(&event, first_step);
    protobuf_message(&event, EVENT_SESSION, &session);
    result = write_record(events, &event, err);
    buf_deinit(&event);
    buf_deinit(&session);
    return result;
}

int event_file_open(struct event_file *events, const char *directory, uint64_t first_step,
                    struct err *err)
{
    *events = (struct event_file){.fd = -1};
    pthread_mutex_init(&events->lock, NULL);
    int result = file_make_directories(directory, 0755, err);
    if (result == 0)
        result = create_event_file(events, directory, err);
    if (result == 0)
        result = write_file_header(events, first_step, err);
    if (result < 0)
        event_file_close(events);
    return result;
}

void event_file_close(struct event_file *events)
{
    if (events->fd >= 0)
        close(events->fd);
    events->fd = -1;
    mem_free(events->path);
    events->path = NULL;
    pthread_mutex_destroy(&events->lock);
}
