#include "base/protobuf.h"

#include <string.h>

#define VARINT_BYTES 10 /* at most */

static void append_varint(struct buf *buf, uint64_t value)
{
    unsigned char bytes[VARINT_BYTES];
    size_t count = 0;
    do {
        bytes[count] = (unsigned char)(value & 127);
        value >>= 7;
        bytes[count++] |= value ? 128 : 0;
    } while (value);
    buf_append(buf, bytes, count);
}

static void append_key(struct buf *buf, unsigned field, enum protobuf_wire wire)
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
    append_key(buf, field, PROTOBUF_VARINT);
    append_varint(buf, value);
}

void protobuf_double(struct buf *buf, unsigned field, double value)
{
    append_key(buf, field, PROTOBUF_FIXED64);
    append_double(buf, value);
}

void protobuf_float(struct buf *buf, unsigned field, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    append_key(buf, field, PROTOBUF_FIXED32);
    append_little_endian(buf, bits, sizeof bits);
}

void protobuf_string(struct buf *buf, unsigned field, const char *text)
{
    protobuf_bytes(buf, field, text, strlen(text));
}

void protobuf_bytes(struct buf *buf, unsigned field, const void *bytes, size_t count)
{
    append_key(buf, field, PROTOBUF_COUNTED);
    append_varint(buf, count);
    buf_append(buf, bytes, count);
}

void protobuf_put_sfixed32(struct buf *buf, const int32_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        append_little_endian(buf, (uint32_t)values[i], sizeof *values);
}

size_t protobuf_open(struct buf *buf, unsigned field)
{
    append_key(buf, field, PROTOBUF_COUNTED);
    return buf->len;
}

void protobuf_close(struct buf *buf, size_t mark)
{
    char length[VARINT_BYTES];
    size_t end = buf->len;
    append_varint(buf, end - mark);
    if (buf->cut)
        return;
    size_t count = buf->len - end;
    memcpy(length, buf->data + end, count);
    memmove(buf->data + mark + count, buf->data + mark, end - mark);
    memcpy(buf->data + mark, length, count);
}

void protobuf_doubles(struct buf *buf, unsigned field, const double *values, size_t count)
{
    append_key(buf, field, PROTOBUF_COUNTED);
    append_varint(buf, count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        append_double(buf, values[i]);
}

struct protobuf_reader protobuf_reader(const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    return (struct protobuf_reader){at, at + count};
}

static int cut_error(struct err *err)
{
    return err_set(err, ERR_PROTOCOL, "a protocol buffer is cut off or malformed");
}

static int read_varint(struct protobuf_reader *reader, uint64_t *value, struct err *err)
{
    *value = 0;
    for (unsigned shift = 0; shift < 7 * VARINT_BYTES && reader->at < reader->end; shift += 7) {
        const unsigned char byte = *reader->at++;
        if (shift == 63 && byte > 1)
            break;
        *value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return 0;
    }
    return cut_error(err);
}

static int read_little_endian(struct protobuf_reader *reader, size_t count, uint64_t *value,
                              struct err *err)
{
    *value = 0;
    if (protobuf_left(reader) < count)
        return cut_error(err);
    for (size_t i = 0; i < count; i++)
        *value |= (uint64_t)reader->at[i] << 8 * i;
    reader->at += count;
    return 0;
}

static int read_counted(struct protobuf_reader *reader, struct protobuf_reader *bytes,
                        struct err *err)
{
    uint64_t count;
    int result = read_varint(reader, &count, err);
    if (result == 0 && count > protobuf_left(reader))
        result = cut_error(err);
    if (result < 0)
        return result;
    *bytes = protobuf_reader(reader->at, (size_t)count);
    reader->at += count;
    return 0;
}

int protobuf_next(struct protobuf_reader *reader, struct protobuf_field *field, struct err *err)
{
    uint64_t key;
    *field = (struct protobuf_field){0};
    if (reader->at == reader->end)
        return 0;
    int result = read_varint(reader, &key, err);
    if (result == 0 && (key >> 3 == 0 || key >> 3 > UINT32_MAX >> 3))
        result = cut_error(err);
    if (result < 0)
        return result;
    field->number = (unsigned)(key >> 3);
    field->wire = (enum protobuf_wire)(key & 7);
    switch (field->wire) {
    case PROTOBUF_VARINT:
        result = read_varint(reader, &field->value, err);
        break;
    case PROTOBUF_FIXED64:
        result = read_little_endian(reader, 8, &field->value, err);
        break;
    case PROTOBUF_FIXED32:
        result = read_little_endian(reader, 4, &field->value, err);
        break;
    case PROTOBUF_COUNTED:
        result = read_counted(reader, &field->bytes, err);
        break;
    default:
        result = cut_error(err);
    }
    return result < 0 ? result : 1;
}
