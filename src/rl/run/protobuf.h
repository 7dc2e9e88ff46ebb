/* protobuf: the wire format of protocol buffers, as far as it takes to write one.
 *
 * Messages are appended to a buf; a message within a message is written to a buf of its own first.
 * Fields that are 0 are written, too: readers take them for what they are.
 */
#ifndef WARPGYM_RL_RUN_PROTOBUF_H
#define WARPGYM_RL_RUN_PROTOBUF_H

#include "base/buf.h"

#include <stdint.h>

void protobuf_varint(struct buf *buf, unsigned field, uint64_t value);
void protobuf_double(struct buf *buf, unsigned field, double value);
void protobuf_float(struct buf *buf, unsigned field, float value);
void protobuf_bytes(struct buf *buf, unsigned field, const void *bytes, size_t count);
void protobuf_string(struct buf *buf, unsigned field, const char *text);
void protobuf_message(struct buf *buf, unsigned field, const struct buf *message);
void protobuf_doubles(struct buf *buf, unsigned field, const double *values, size_t count);

#endif
