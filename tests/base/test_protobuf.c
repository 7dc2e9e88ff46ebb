/* The wire format of protocol buffers: what is written, and what is read or refused. */
#include "base/protobuf.h"

#include "../support/test.h"
#include "base/array.h"

#include <string.h>

/* The fields of the message below. */
static void check_fields(const char *bytes, size_t count)
{
    static const struct {
        unsigned number;
        enum protobuf_wire wire;
        uint64_t value;
        const char *text;
    } wanted[] = {
        {1, PROTOBUF_VARINT, 150, NULL},
        {2, PROTOBUF_VARINT, 0, NULL},
        {3, PROTOBUF_COUNTED, 0, "hi"},
        {4, PROTOBUF_FIXED32, 0x3f800000, NULL},
        {5, PROTOBUF_FIXED64, 0xbff0ULL << 48, NULL},
        {6, PROTOBUF_COUNTED, 0, NULL},
        {1000, PROTOBUF_COUNTED, 0, ""},
        {7, PROTOBUF_VARINT, UINT64_MAX, NULL},
        {8, PROTOBUF_COUNTED, 0, NULL},
    };
    struct protobuf_reader reader = protobuf_reader(bytes, count);
    struct protobuf_field field;
    struct err err;
    for (size_t i = 0; i < COUNT(wanted); i++) {
        assert_int_equal(protobuf_next(&reader, &field, &err), 1);
        assert_int_equal(field.number, wanted[i].number);
        assert_int_equal(field.wire, wanted[i].wire);
        assert_true(field.value == wanted[i].value);
        if (wanted[i].text)
            assert_memory_equal(field.bytes.at, wanted[i].text, strlen(wanted[i].text));
    }
    assert_int_equal(protobuf_next(&reader, &field, &err), 0);
}

TEST(wire)
{
    static const unsigned char wanted[] = {
        0x08, 0x96, 0x01,                                           /* 1: 150 */
        0x10, 0x00,                                                 /* 2: 0 */
        0x1a, 0x02, 'h',  'i',                                      /* 3: "hi" */
        0x25, 0x00, 0x00, 0x80, 0x3f,                               /* 4: 1.0f */
        0x29, 0,    0,    0,    0,    0,    0,    0xf0, 0xbf,       /* 5: -1.0 */
        0x32, 0x08, 0,    0,    0,    0,    0,    0,    0xf0, 0x3f, /* 6: [1.0] */
        0xc2, 0x3e, 0x00,                                           /* 1000: "" */
        0x38, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
        0x42, 0x08, 0x02, 0x01, 0,    0,    0xff, 0xff, 0xff, 0xff, /* 8: [258, -1] */
    };
    static const double one = 1;
    static const int32_t two[] = {258, -1};
    struct buf buf;
    buf_init(&buf, 1000);
    protobuf_varint(&buf, 1, 150);
    protobuf_varint(&buf, 2, 0);
    protobuf_string(&buf, 3, "hi");
    protobuf_float(&buf, 4, 1);
    protobuf_double(&buf, 5, -1);
    protobuf_doubles(&buf, 6, &one, 1);
    protobuf_string(&buf, 1000, "");
    protobuf_varint(&buf, 7, UINT64_MAX);
    const size_t mark = protobuf_open(&buf, 8);
    protobuf_put_sfixed32(&buf, two, COUNT(two));
    protobuf_close(&buf, mark);
    assert_int_equal(buf.len, sizeof wanted);
    assert_memory_equal(buf.data, wanted, sizeof wanted);
    check_fields(buf.data, buf.len);
    buf_deinit(&buf);
}

/* All bytes but the last, or one changed: refused, or other fields, never bytes outside. */
TEST(malformed)
{
    static const unsigned char refused[][4] = {
        {2, 0x08, 0x80},       /* a varint without an end */
        {2, 0x0a, 0x02},       /* a string longer than the message */
        {3, 0x0b, 0x00, 0x00}, /* a group */
        {2, 0x00, 0x01},       /* field 0 */
        {3, 0x25, 0x00, 0x00}, /* half of a fixed number */
    };
    for (size_t i = 0; i < COUNT(refused); i++) {
        struct protobuf_reader reader = protobuf_reader(&refused[i][1], refused[i][0]);
        struct protobuf_field field;
        struct err err;
        assert_int_equal(protobuf_next(&reader, &field, &err), ERR_PROTOCOL);
        assert_non_null(strstr(err.text, "malformed"));
    }
    unsigned char large[11];
    memset(large, 0xff, sizeof large);
    large[0] = 0x08;
    struct protobuf_reader reader = protobuf_reader(large, sizeof large);
    struct protobuf_field field;
    struct err err;
    assert_int_equal(protobuf_next(&reader, &field, &err), ERR_PROTOCOL);
}
