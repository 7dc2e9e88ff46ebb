/* protobuf: the wire format of protocol buffers.
 *
 * Writing: fields are appended to a buf; a nested message is what is appended between
 * protobuf_open, which returns its mark, and protobuf_close. Fields that are 0 are written, too,
 * which readers accept.
 *
 * Reading: protobuf_next walks over the fields of a message in their order; a nested message or a
 * string is `bytes`, which lies in the caller's memory, and is read with another reader. Bytes are
 * untrusted: whatever does not fit is ERR_PROTOCOL. Format: the encoding page of Protocol Buffers.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

void protobuf_varint(struct buf *buf, unsigned field, uint64_t value);
void protobuf_double(struct buf *buf, unsigned field, double value);
void protobuf_float(struct buf *buf, unsigned field, float value);
void protobuf_string(struct buf *buf, unsigned field, const char *text);
void protobuf_bytes(struct buf *buf, unsigned field, const void *bytes, size_t count);
void protobuf_doubles(struct buf *buf, unsigned field, const double *values, size_t count);
/* The content of a packed field, between protobuf_open and protobuf_close: sfixed32. */
void protobuf_put_sfixed32(struct buf *buf, const int32_t *values, size_t count);
size_t protobuf_open(struct buf *buf, unsigned field);
void protobuf_close(struct buf *buf, size_t mark);

enum protobuf_wire {
    PROTOBUF_VARINT = 0,
    PROTOBUF_FIXED64 = 1,
    PROTOBUF_COUNTED = 2,
    PROTOBUF_FIXED32 = 5
};

struct protobuf_reader {
    const unsigned char *at, *end;
};

struct protobuf_field {
    unsigned number;
    enum protobuf_wire wire;
    uint64_t value;               /* of a varint, or the bits of a fixed one */
    struct protobuf_reader bytes; /* of a counted one */
};

struct protobuf_reader protobuf_reader(const void *bytes, size_t count);
/* 1: a field; 0: the end. */
NODISCARD int protobuf_next(struct protobuf_reader *reader, struct protobuf_field *field,
                            struct err *err);
static inline size_t protobuf_left(const struct protobuf_reader *reader)
{
    return (size_t)(reader->end - reader->at);
}
