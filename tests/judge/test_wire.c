#include "judge/process/wire.h"

#include "../support/test.h"
#include "base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static int ends[2];
static union wire_message message;

FIXTURE(begin)
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
}

FIXTURE(end)
{
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    return 0;
}

TEST_EACH(begin, end);

static int count_descriptors(void)
{
    int count = 0;
    DIR *stream = opendir("/proc/self/fd");
    while (stream && readdir(stream))
        count++;
    if (stream)
        closedir(stream);
    return count;
}

static const uint32_t types[] = {WIRE_OPEN,           WIRE_OPENED, WIRE_MAP,   WIRE_MAPPED,
                                 WIRE_FILL,           WIRE_FILLED, WIRE_CALL,  WIRE_DONE,
                                 WIRE_FAILED,         WIRE_BUILD,  WIRE_BUILT, WIRE_WARM,
                                 WIRE_SEGMENT,        WIRE_WAKE,   WIRE_AWAKE, WIRE_HELLO,
                                 WIRE_PROGRAM_OPENED, WIRE_LOCKED};

/* A message of this type in which no byte behind the type is the same as its neighbour. */
static void make(uint32_t type, size_t bytes)
{
    for (size_t i = 0; i < sizeof message.bytes; i++)
        message.bytes[i] = (char)(i < bytes ? i * 31 + type : 0);
    message.type = type;
}

TEST(round_trip)
{
    for (size_t i = 0; i < COUNT(types); i++) {
        union wire_message got = {0};
        int descriptors[WIRE_DESCRIPTORS];
        size_t length = wire_length(types[i]);
        size_t bytes = 0;
        assert_in_range(length, 2 * sizeof(uint32_t), WIRE_BYTES);
        make(types[i], length);
        assert_int_equal(wire_send(ends[0], &message, length, NULL, 0, NULL), 0);
        assert_int_equal(wire_receive(ends[1], &got, &bytes, descriptors, NULL), 0);
        assert_int_equal(bytes, length);
        assert_memory_equal(&got, &message, length);
        for (int d = 0; d < WIRE_DESCRIPTORS; d++)
            assert_int_equal(descriptors[d], -1);
    }
}

/* The longest that there may be is taken as it is: a newer child may say more than it has to. */
TEST(longest)
{
    union wire_message got = {0};
    int descriptors[WIRE_DESCRIPTORS];
    size_t bytes = 0;
    make(WIRE_FAILED, sizeof message);
    assert_int_equal(wire_send(ends[0], &message, sizeof message, NULL, 0, NULL), 0);
    assert_int_equal(wire_receive(ends[1], &got, &bytes, descriptors, NULL), 0);
    assert_int_equal(bytes, WIRE_BYTES);
    assert_memory_equal(&got, &message, sizeof message);
}

TEST(descriptors)
{
    int before = count_descriptors();
    for (uint32_t count = 1; count <= WIRE_DESCRIPTORS; count++) {
        union wire_message got;
        struct stat sent;
        struct stat here;
        int sources[WIRE_DESCRIPTORS];
        int descriptors[WIRE_DESCRIPTORS];
        size_t bytes;
        for (uint32_t i = 0; i < count; i++)
            sources[i] = open(i % 2 ? "/dev/zero" : "/dev/null", O_RDONLY | O_CLOEXEC);
        make(WIRE_OPEN, sizeof message.open);
        assert_int_equal(wire_send(ends[0], &message, sizeof message.open, sources, count, NULL),
                         0);
        assert_int_equal(wire_receive(ends[1], &got, &bytes, descriptors, NULL), 0);
        for (uint32_t i = 0; i < WIRE_DESCRIPTORS; i++) {
            if (i >= count) {
                assert_int_equal(descriptors[i], -1);
                continue;
            }
            assert_int_equal(fstat(sources[i], &sent) | fstat(descriptors[i], &here), 0);
            assert_int_equal(here.st_rdev, sent.st_rdev);
            assert_int_equal(fcntl(descriptors[i], F_GETFD), FD_CLOEXEC);
            close(descriptors[i]);
            close(sources[i]);
        }
    }
    assert_int_equal(count_descriptors(), before);
}

/* One raw message with `count` descriptors, as an adversary may send it. */
static void send_raw(const void *bytes, size_t length, uint32_t count)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(64 * sizeof(int))];
    } ancillary = {0};
    struct iovec vector = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = length};
    struct msghdr header = {.msg_iov = &vector, .msg_iovlen = 1};
    int fds[64];
    for (uint32_t i = 0; i < count; i++)
        fds[i] = ends[0];
    if (count > 0) {
        header.msg_control = ancillary.bytes;
        header.msg_controllen = CMSG_SPACE(count * sizeof(int));
        ancillary.header.cmsg_level = SOL_SOCKET;
        ancillary.header.cmsg_type = SCM_RIGHTS;
        ancillary.header.cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(&ancillary.header), fds, count * sizeof(int));
    }
    assert_int_equal(sendmsg(ends[0], &header, MSG_NOSIGNAL), (ssize_t)length);
}

#define LONGER ((size_t)WIRE_BYTES + 4)

static const struct {
    const char *name;
    uint32_t type;
    size_t bytes;
    uint32_t descriptors;
    int code;
} refused[] = {
    {"half a type", WIRE_MAPPED, 2, 0, ERR_PROTOCOL},
    {"a type alone", WIRE_MAPPED, 4, 0, ERR_PROTOCOL},
    {"a type alone, with descriptors", WIRE_BUILD, 4, 4, ERR_PROTOCOL},
    {"too short for DONE", WIRE_DONE, offsetof(struct wire_done, outputs) - 1, 0, ERR_PROTOCOL},
    {"too short for FAILED", WIRE_FAILED, 16, 2, ERR_PROTOCOL},
    {"too short for OPENED", WIRE_OPENED, sizeof(struct wire_opened) - 8, 0, ERR_PROTOCOL},
    {"type 0", 0, 64, 0, ERR_PROTOCOL},
    {"an unknown type", WIRE_LOCKED + 1, 64, 1, ERR_PROTOCOL},
    {"what only the judge says", WIRE_PROGRAM_OPEN, WIRE_BYTES, 1, ERR_PROTOCOL},
    {"too short for HELLO", WIRE_HELLO, 4, 0, ERR_PROTOCOL},
    {"a wild type", UINT32_MAX, sizeof(struct wire_done), 0, ERR_PROTOCOL},
    {"longer than the longest", WIRE_DONE, LONGER, 0, ERR_PROTOCOL},
    {"longer, with descriptors", WIRE_DONE, LONGER, 4, ERR_PROTOCOL},
    {"one descriptor too many", WIRE_MAPPED, 8, WIRE_DESCRIPTORS + 1, ERR_PROTOCOL},
    {"far too many descriptors", WIRE_MAPPED, 8, 64, ERR_PROTOCOL},
    {"nothing, which is how an end looks", 0, 0, 0, ERR_CRASH},
    {"nothing, with descriptors", 0, 0, 4, ERR_CRASH},
    {"nothing, with too many descriptors", 0, 0, 8, ERR_CRASH},
};

TEST(refused)
{
    int before = count_descriptors();
    char *bytes = mem_alloc(LONGER);
    for (size_t i = 0; i < COUNT(refused); i++) {
        int descriptors[WIRE_DESCRIPTORS];
        struct err err = {0};
        size_t length;
        memcpy(bytes, &refused[i].type, sizeof refused[i].type);
        send_raw(bytes, refused[i].bytes, refused[i].descriptors);
        int result = wire_receive(ends[1], &message, &length, descriptors, &err);
        if (result != refused[i].code || err.code != result || !err.text[0])
            fail_msg("%s: %s (%s)", refused[i].name, err_name(result), err.text);
        for (int d = 0; d < WIRE_DESCRIPTORS; d++)
            assert_int_equal(descriptors[d], -1);
        if (count_descriptors() != before)
            fail_msg("%s: leaves a descriptor open", refused[i].name);
    }
    mem_free(bytes);
}

TEST(gone)
{
    int descriptors[WIRE_DESCRIPTORS];
    struct err err = {0};
    size_t bytes;
    make(WIRE_CALL, sizeof message.call);
    /* With a message of ours unread, the kernel says ECONNRESET before it says end-of-file. */
    assert_int_equal(wire_send(ends[1], &message, sizeof message.call, NULL, 0, &err), 0);
    close(ends[0]);
    ends[0] = -1;
    assert_int_equal(wire_receive(ends[1], &message, &bytes, descriptors, &err), ERR_CRASH);
    assert_int_equal(wire_receive(ends[1], &message, &bytes, descriptors, &err), ERR_CRASH);
    assert_int_equal(wire_send(ends[1], &message, sizeof message.call, NULL, 0, &err), ERR_CRASH);
    assert_non_null(strstr(err.text, "gone"));
}

/* A failure of our own is not the end of the other end. */
TEST_WITH(own_mistake, NULL, NULL)
{
    int descriptors[WIRE_DESCRIPTORS];
    size_t bytes;
    make(WIRE_CALL, sizeof message.call);
    assert_int_equal(wire_send(-1, &message, sizeof message.call, NULL, 0, NULL), ERR_IO);
    assert_int_equal(wire_receive(-1, &message, &bytes, descriptors, NULL), ERR_IO);
}

static const struct {
    const char *name;
    bool good;
    uint32_t count;
    struct wire_output output;
} claims[] = {
    {"none", true, 0, {0}},
    {"a scalar", true, 1, {.bytes = 4, .dtype = DTYPE_F32}},
    {"a matrix", true, 1, {.bytes = 48, .dtype = DTYPE_F64, .dimensions = 2, .shape = {2, 3}}},
    {"an empty one", true, 1, {.dtype = DTYPE_F64, .dimensions = 2, .shape = {0, 3}}},
    {"many outputs", true, WIRE_OUTPUTS, {.bytes = 1, .dtype = DTYPE_BOOL}},
    {"as large as may be", true, 1,
     .output = {.bytes = LIMIT_TENSOR_BYTES,
                .dtype = DTYPE_U8,
                .dimensions = 1,
                .shape = {(int64_t)LIMIT_TENSOR_BYTES}}},
    {"all dimensions", true, 1,
     .output =
         {.bytes = 2, .dtype = DTYPE_F16, .dimensions = 8, .shape = {1, 1, 1, 1, 1, 1, 1, 1}}},
    {"one output too many", false, WIRE_OUTPUTS + 1, {.bytes = 4, .dtype = DTYPE_F32}},
    {"outputs without end", false, UINT32_MAX, {.bytes = 4, .dtype = DTYPE_F32}},
    {"an unknown type", false, 1, {.bytes = 4, .dtype = DTYPE_COUNT}},
    {"a wild type", false, 1, {.bytes = 4, .dtype = UINT32_MAX}},
    {"too few bytes", false, 1, {.bytes = 4, .dtype = DTYPE_F64}},
    {"too many bytes", false, 1, {.bytes = 4096, .dtype = DTYPE_F64}},
    {"too many dimensions", false, 1, {.bytes = 4, .dtype = DTYPE_F32, .dimensions = 9}},
    {"dimensions without end", false, 1, {.bytes = 4, .dtype = DTYPE_F32, .dimensions = ~0U}},
    {"a negative size", false, 1,
     .output = {.bytes = 4, .dtype = DTYPE_F32, .dimensions = 2, .shape = {-1, -1}}},
    {"a product that wraps to the claim", false, 1,
     .output =
         {.bytes = 0, .dtype = DTYPE_F32, .dimensions = 2, .shape = {INT64_C(1) << 32, 1 << 30}}},
    {"larger than anything", false, 1,
     .output = {.bytes = LIMIT_TENSOR_BYTES + 1,
                .dtype = DTYPE_U8,
                .dimensions = 1,
                .shape = {(int64_t)LIMIT_TENSOR_BYTES + 1}}},
};

/* Of two inputs, the second is changed so. */
#define GIB ((uint64_t)1 << 30)
static const struct {
    const char *name;
    bool good;
    uint32_t count, cases;
    uint64_t bytes;
    uint32_t role, dtype;
    uint64_t offset, elements;
    uint32_t fill;
} layouts[] = {
    {"in its place", true, 2, 0, 4096, ROLE_IN, DTYPE_F32, 512, 16, FILL_NONE},
    {"up to the end", true, 2, 2, 4096, ROLE_IN, DTYPE_U8, 512, 4096 - 512 - 256, FILL_NONE},
    {"none", true, 0, 0, 4096, ROLE_IN, DTYPE_F32, 0, 0, FILL_NONE},
    {"a byte too long", false, 2, 0, 4096, ROLE_IN, DTYPE_U8, 512, 4096 - 512 - 255, FILL_NONE},
    {"no bytes for the guard", false, 2, 0, 4096, ROLE_IN, DTYPE_F32, 4032, 16, FILL_NONE},
    {"behind the slot", false, 2, 0, 4096, ROLE_IN, DTYPE_F32, 512 + (16 * GIB), 16, FILL_NONE},
    {"an offset that wraps", false, 2, 0, 4096, ROLE_IN, DTYPE_F32, UINT64_MAX - 63, 16, FILL_NONE},
    {"a length that wraps", false, 2, 0, 4096, ROLE_IN, DTYPE_F32, 512, UINT64_MAX / 4 + 2,
     FILL_NONE},
    {"in the first one", false, 2, 0, 4096, ROLE_IN, DTYPE_F32, 0, 16, FILL_NONE},
    {"in the guard of the first one", false, 2, 0, 4096, ROLE_IN, DTYPE_F32, 64, 16, FILL_NONE},
    {"not aligned", false, 2, 0, 4096, ROLE_IN, DTYPE_F32, 516, 16, FILL_NONE},
    {"an output", false, 2, 0, 4096, ROLE_OUT, DTYPE_F32, 512, 16, FILL_NONE},
    {"a wild role", false, 2, 0, 4096, 7, DTYPE_F32, 512, 16, FILL_NONE},
    {"a wild type", false, 2, 0, 4096, ROLE_IN, DTYPE_COUNT, 512, 16, FILL_NONE},
    {"with a fill", false, 2, 0, 4096, ROLE_IN, DTYPE_F32, 512, 16, FILL_NORMAL},
    {"too many", false, LIMIT_ARGUMENTS + 1, 0, 4096, ROLE_IN, DTYPE_F32, 512, 16, FILL_NONE},
    {"more cases than inputs", false, 2, 3, 4096, ROLE_IN, DTYPE_F32, 512, 16, FILL_NONE},
    {"larger than anything", false, 2, 0, UINT64_MAX, ROLE_IN, DTYPE_F32, 512, 16, FILL_NONE},
};

TEST_WITH(inputs, NULL, NULL)
{
    for (size_t i = 0; i < COUNT(layouts); i++) {
        struct wire_opened opened = {
            .type = WIRE_OPENED,
            .layout = {.count = layouts[i].count,
                       .cases = layouts[i].cases,
                       .bytes = layouts[i].bytes,
                       .arguments = {{.role = ROLE_IN, .dtype = DTYPE_F32, .count = 16},
                                     {.role = layouts[i].role,
                                      .dtype = layouts[i].dtype,
                                      .offset = layouts[i].offset,
                                      .count = layouts[i].elements,
                                      .fill = layouts[i].fill}}}};
        struct err err = {0};
        int result = wire_check_opened(&opened, &err);
        if (result != (layouts[i].good ? 0 : ERR_PROTOCOL))
            fail_msg("%s: %s %s", layouts[i].name, err_name(result), err.text);
    }
}

/* In the last place that counts, so that all of them are looked at. */
TEST_WITH(claims, NULL, NULL)
{
    for (size_t i = 0; i < COUNT(claims); i++) {
        struct wire_done done = {.type = WIRE_DONE, .count = claims[i].count};
        struct err err = {0};
        for (uint32_t o = 0; o < WIRE_OUTPUTS; o++)
            done.outputs[o] = (struct wire_output){.bytes = 1, .dtype = DTYPE_I8};
        uint32_t last = claims[i].count - 1;
        done.outputs[last < WIRE_OUTPUTS ? last : WIRE_OUTPUTS - 1] = claims[i].output;
        int result = wire_check_done(&done, &err);
        if (result != (claims[i].good ? 0 : ERR_PROTOCOL))
            fail_msg("%s: %s %s", claims[i].name, err_name(result), err.text);
    }
}
