/* tinker_proto: passes and samples in protocol buffers, as the SDK sends and reads them since 0.25
 * (package tinker_public; field numbers from the descriptor in the SDK 0.38). Pure.
 *
 * A result is turned into the JSON that older servers answer; our own server does so too for older
 * clients.
 * Results are untrusted: ERR_PROTOCOL.
 */
#pragma once

#include "policy/tinker_wire.h"

#include <jansson.h>

#define TINKER_PROTOBUF "application/x-protobuf"

/* ForwardBackwardRequest. Arrays are little-endian, of 4 bytes a row. */
void tinker_proto_put_pass(struct buf *body, const char *model, uint64_t number, bool gradients,
                           const struct tinker_wire_pass *pass);
/* ForwardBackwardOutput and SampleResponse; *out is a new reference. */
NODISCARD int tinker_proto_read_pass(const void *bytes, size_t count, json_t **out,
                                     struct err *err);
NODISCARD int tinker_proto_read_sample(const void *bytes, size_t count, json_t **out,
                                       struct err *err);
