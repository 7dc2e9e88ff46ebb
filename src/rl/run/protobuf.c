#include "rl/run/protobuf.h"

#include <string.h>

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

void protobuf_bytes(struct buf *buf, unsigned field, const void *bytes, size_t count)
{
    append_key(buf, field, WIRE_COUNTED);
    append_varint(buf, count);
    buf_append(buf, bytes, count);
}

void protobuf_string(struct buf *buf, unsigned field, const char *text)
{
    protobuf_bytes(buf, field, text, strlen(text));
}

void protobuf_message(struct buf *buf, unsigned field, const struct buf *message)
{
    protobuf_bytes(buf, field, message->data, message->len);
}

void protobuf_doubles(struct buf *buf, unsigned field, const double *values, size_t count)
{
    append_key(buf, field, WIRE_COUNTED);
    append_varint(buf, count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        append_double(buf, values[i]);
}
