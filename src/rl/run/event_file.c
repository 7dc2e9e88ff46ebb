#include "rl/run/event_file.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/protobuf.h"
#include "base/utf8.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUCKETS 30
#define FRAME_BYTES ((size_t)16) /* length, its checksum, the bytes' checksum */
#define NAMES_TRIED 100
#define EVENT_BYTES (LIMIT_TFEVENT_BYTES + 256) /* with what is around an entry */

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
    buf_init(event, EVENT_BYTES);
    protobuf_double(event, EVENT_WALL_TIME, (double)clock_wall_ms() / 1000);
    protobuf_varint(event, EVENT_STEP, step);
}

/* An event with one value, which is open. */
struct entry {
    struct buf event;
    size_t summary, value;
};

/* Readers reject a whole file for one tag that is not UTF-8. */
static int begin_entry(struct entry *entry, uint64_t step, const char *tag, struct err *err)
{
    if (!utf8_is_valid(tag, strlen(tag)))
        return err_set(err, ERR_INPUT, "a tag of an event file must be UTF-8");
    begin_event(&entry->event, step);
    entry->summary = protobuf_open(&entry->event, EVENT_SUMMARY);
    entry->value = protobuf_open(&entry->event, SUMMARY_VALUE);
    protobuf_string(&entry->event, VALUE_TAG, tag);
    return 0;
}

static int write_entry(struct event_file *events, struct entry *entry, struct err *err)
{
    bool fits = entry->event.len - entry->value <= LIMIT_TFEVENT_BYTES;
    protobuf_close(&entry->event, entry->value);
    protobuf_close(&entry->event, entry->summary);
    int result = fits ? write_record(events, &entry->event, err)
                      : err_set(err, ERR_LIMIT, "%s: one entry is larger than %zu bytes",
                                events->path, LIMIT_TFEVENT_BYTES);
    buf_deinit(&entry->event);
    return result;
}

int event_file_scalar(struct event_file *events, uint64_t step, const char *tag, double number,
                      struct err *err)
{
    struct entry entry;
    int result = begin_entry(&entry, step, tag, err);
    if (result < 0)
        return result;
    protobuf_float(&entry.event, VALUE_SIMPLE, (float)number);
    return write_entry(events, &entry, err);
}

/* Names the TensorBoard plugin that shows the tensor; its content may follow. */
struct plugin {
    size_t metadata, plugin;
};

static struct plugin begin_plugin(struct buf *event, const char *name)
{
    struct plugin plugin = {.metadata = protobuf_open(event, VALUE_METADATA)};
    plugin.plugin = protobuf_open(event, METADATA_PLUGIN);
    protobuf_string(event, PLUGIN_NAME, name);
    return plugin;
}

static void end_plugin(struct buf *event, struct plugin plugin)
{
    protobuf_close(event, plugin.plugin);
    protobuf_varint(event, METADATA_CLASS, CLASS_TENSOR);
    protobuf_close(event, plugin.metadata);
}

/* A vector of `size` strings or floats; `text` is its only element, or NULL. */
static void put_tensor(struct buf *event, unsigned type, size_t size, const char *text)
{
    size_t tensor = protobuf_open(event, VALUE_TENSOR);
    protobuf_varint(event, TENSOR_TYPE, type);
    size_t shape = protobuf_open(event, TENSOR_SHAPE);
    size_t dimension = protobuf_open(event, SHAPE_DIMENSION);
    protobuf_varint(event, DIMENSION_SIZE, size);
    protobuf_close(event, dimension);
    protobuf_close(event, shape);
    if (text)
        protobuf_string(event, TENSOR_STRINGS, text);
    protobuf_close(event, tensor);
}

int event_file_text(struct event_file *events, uint64_t step, const char *tag, const char *text,
                    struct err *err)
{
    struct entry entry;
    int result = begin_entry(&entry, step, tag, err);
    if (result < 0)
        return result;
    end_plugin(&entry.event, begin_plugin(&entry.event, "text"));
    put_tensor(&entry.event, TYPE_STRING, 1, text);
    return write_entry(events, &entry, err);
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
    struct entry entry;
    measure_histogram(&histogram, values, count);
    if (histogram.count == 0)
        return 0;
    int result = begin_entry(&entry, step, tag, err);
    if (result < 0)
        return result;
    fill_buckets(&histogram, values, count);
    size_t message = protobuf_open(&entry.event, VALUE_HISTOGRAM);
    protobuf_double(&entry.event, HISTOGRAM_MIN, histogram.min);
    protobuf_double(&entry.event, HISTOGRAM_MAX, histogram.max);
    protobuf_double(&entry.event, HISTOGRAM_COUNT, histogram.count);
    protobuf_double(&entry.event, HISTOGRAM_SUM, histogram.sum);
    protobuf_double(&entry.event, HISTOGRAM_SQUARES, histogram.squares);
    protobuf_doubles(&entry.event, HISTOGRAM_LIMITS, histogram.limits, histogram.bucket_count);
    protobuf_doubles(&entry.event, HISTOGRAM_BUCKETS, histogram.buckets, histogram.bucket_count);
    protobuf_close(&entry.event, message);
    return write_entry(events, &entry, err);
}

/* One entry of a map from names to google.protobuf.Value. */
static void put_hparam(struct buf *event, const struct event_file_hparam *hparam)
{
    size_t entry = protobuf_open(event, START_HPARAMS);
    protobuf_string(event, ENTRY_KEY, hparam->name);
    size_t value = protobuf_open(event, ENTRY_VALUE);
    if (hparam->text)
        protobuf_string(event, STRING_VALUE, hparam->text);
    else
        protobuf_double(event, NUMBER_VALUE, hparam->value);
    protobuf_close(event, value);
    protobuf_close(event, entry);
}

int event_file_hparams(struct event_file *events, const char *group,
                       const struct event_file_hparam *hparams, size_t count, struct err *err)
{
    struct entry entry;
    int result = begin_entry(&entry, 0, "_hparams_/session_start_info", err);
    if (result < 0)
        return result;
    struct plugin plugin = begin_plugin(&entry.event, "hparams");
    size_t content = protobuf_open(&entry.event, PLUGIN_CONTENT);
    protobuf_varint(&entry.event, HPARAMS_VERSION, 0);
    size_t start = protobuf_open(&entry.event, HPARAMS_START);
    for (size_t i = 0; i < count; i++)
        put_hparam(&entry.event, &hparams[i]);
    protobuf_string(&entry.event, START_GROUP, group);
    protobuf_double(&entry.event, START_TIME, (double)clock_wall_ms() / 1000);
    protobuf_close(&entry.event, start);
    protobuf_close(&entry.event, content);
    end_plugin(&entry.event, plugin);
    put_tensor(&entry.event, TYPE_FLOAT, 0, NULL);
    return write_entry(events, &entry, err);
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
    begin_event(&event, first_step);
    size_t session = protobuf_open(&event, EVENT_SESSION);
    protobuf_varint(&event, SESSION_STATUS, SESSION_START);
    protobuf_close(&event, session);
    result = write_record(events, &event, err);
    buf_deinit(&event);
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
