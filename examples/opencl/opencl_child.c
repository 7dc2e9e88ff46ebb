/* opencl_child: OpenCL C for warpgym, on any CPU device of OpenCL (made for PoCL).
 *
 *   opencl_child compile SOURCE ARTIFACT   in the sandbox for compilers: source to binary
 *   opencl_child                           behind the fence: speaks warpgym_child.h on descriptor 3
 *
 * PoCL links what it compiles with ld, and behind the fence no program can be started: therefore
 * the binary is made beforehand, with the kernel for the one local size that will be used.
 *
 *   // global: rows*cols    work items: a product of sizes and numbers; without it, as many as the
 *                           first output has elements; rounded up to whole groups
 *   // local: 64            work items of a group
 */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include "warpgym_child.h"

#include <CL/cl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOCAL_STANDARD 64
#define DESCRIPTORS 4

static const size_t element_bytes[] = {2, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 1};

struct opencl {
    cl_device_id device;
    cl_context context;
    cl_program program;
    cl_kernel kernel;
    cl_command_queue queue;
    struct warpgym_child_open open;
    struct warpgym_child_map map;
    char *source;
    char *memory;
    cl_mem buffers[WARPGYM_CHILD_ARGUMENTS];
    size_t local;
};

static char *read_all(int fd, size_t *bytes)
{
    struct stat facts;
    if (fd < 0 || fstat(fd, &facts) < 0)
        return NULL;
    char *text = malloc((size_t)facts.st_size + 1);
    ssize_t got = text ? pread(fd, text, (size_t)facts.st_size, 0) : -1;
    if (got < 0)
        return NULL;
    text[got] = '\0';
    *bytes = (size_t)got;
    return text;
}

/* What stands behind `// NAME:`, or NULL. */
static const char *remark(const char *source, const char *name)
{
    char wanted[32];
    snprintf(wanted, sizeof wanted, "// %s:", name);
    const char *at = strstr(source, wanted);
    return at ? at + strlen(wanted) : NULL;
}

static size_t local_size(const char *source)
{
    const char *text = remark(source, "local");
    long size = text ? strtol(text, NULL, 10) : LOCAL_STANDARD;
    return size > 0 && size <= 1024 ? (size_t)size : LOCAL_STANDARD;
}

/* PoCL asks hwloc what the machine looks like, which /sys would say; in a sandbox there is none. */
static bool open_device(struct opencl *opencl, uint32_t threads)
{
    char text[64];
    snprintf(text, sizeof text, "node:1 core:%u pu:1", threads);
    setenv("HWLOC_SYNTHETIC", text, 1);
    snprintf(text, sizeof text, "%u", threads);
    setenv("POCL_MAX_PTHREAD_COUNT", text, 1);
    cl_platform_id platform;
    cl_int error = clGetPlatformIDs(1, &platform, NULL);
    if (error == CL_SUCCESS)
        error = clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &opencl->device, NULL);
    if (error == CL_SUCCESS)
        opencl->context = clCreateContext(NULL, 1, &opencl->device, NULL, NULL, &error);
    return error == CL_SUCCESS;
}

/* ------------------------------------------------------------------------------------- compile */

/* PoCL says "error: PLACE:LINE:COLUMN: text", and compilers say it the other way round. */
static void print_log(struct opencl *opencl)
{
    static char text[1 << 16];
    clGetProgramBuildInfo(opencl->program, opencl->device, CL_PROGRAM_BUILD_LOG, sizeof text - 1,
                          text, NULL);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        size_t kind = strncmp(line, "error: ", 7) == 0     ? 5
                      : strncmp(line, "warning: ", 9) == 0 ? 7
                                                           : 0;
        char *end = kind ? strstr(line + kind + 2, ": ") : NULL;
        if (end)
            printf("%.*s: %.*s: %s\n", (int)(end - line - (int)kind - 2), line + kind + 2,
                   (int)kind, line, end + 2);
        else
            printf("%s\n", line);
    }
}

/* A binary that also holds the kernel for this local size, and for one kind of grids. */
static bool build(struct opencl *opencl, const char *kind, unsigned char **binary, size_t *bytes)
{
    char special[64];
    const char *source = opencl->source;
    cl_int error;
    snprintf(special, sizeof special, "%zu-1-1-goffs0%s", opencl->local, kind);
    setenv("POCL_BINARY_SPECIALIZE_WG", special, 1);
    if (!open_device(opencl, 1)) {
        printf("there is no OpenCL device for the CPU\n");
        return false;
    }
    opencl->program = clCreateProgramWithSource(opencl->context, 1, &source, NULL, &error);
    if (error != CL_SUCCESS ||
        clBuildProgram(opencl->program, 1, &opencl->device, "", NULL, NULL) != CL_SUCCESS) {
        print_log(opencl);
        return false;
    }
    clGetProgramInfo(opencl->program, CL_PROGRAM_BINARY_SIZES, sizeof *bytes, bytes, NULL);
    *binary = malloc(*bytes);
    return *binary && clGetProgramInfo(opencl->program, CL_PROGRAM_BINARIES, sizeof *binary, binary,
                                       NULL) == CL_SUCCESS;
}

/* PoCL makes one kind in each process, and a binary holds all that lie in its cache by then. */
static int compile(const char *source, const char *artifact)
{
    struct opencl opencl = {0};
    unsigned char *binary;
    size_t bytes;
    char *text = NULL;
    int status = 1;
    FILE *file = fopen(source, "re");
    char *read = file ? read_all(fileno(file), &bytes) : NULL;
    if (!read || asprintf(&text, "#line 1 \"%s\"\n%s", source, read) < 0)
        return 2;
    opencl.source = text;
    opencl.local = local_size(read);
    pid_t first = fork();
    if (first == 0) {
        bool built = build(&opencl, "", &binary, &bytes);
        fflush(stdout);
        _exit(built ? 0 : 1);
    }
    if (first < 0 || waitpid(first, &status, 0) < 0 || status != 0)
        return 1;
    if (!build(&opencl, "-smallgrid", &binary, &bytes))
        return 1;
    file = fopen(artifact, "we");
    bool written = file && fwrite(binary, 1, bytes, file) == bytes && fclose(file) == 0;
    return written ? 0 : 2;
}

/* --------------------------------------------------------------------------------------- serve */

static void say(const void *message, size_t bytes)
{
    if (send(WARPGYM_CHILD_CHANNEL, message, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
        exit(1);
}

static void say_word(uint32_t type, uint32_t version)
{
    say(&(struct warpgym_child_word){type, version}, sizeof(struct warpgym_child_word));
}

static void fail(uint32_t failure, const char *format, ...)
{
    static struct warpgym_child_failed failed;
    va_list arguments;
    va_start(arguments, format);
    failed = (struct warpgym_child_failed){.type = WARPGYM_CHILD_FAILED, .failure = failure};
    vsnprintf(failed.text, sizeof failed.text, format, arguments);
    va_end(arguments);
    say(&failed, sizeof failed);
    exit(1);
}

static void check(cl_int error, const char *what)
{
    bool memory = error == CL_OUT_OF_HOST_MEMORY || error == CL_OUT_OF_RESOURCES ||
                  error == CL_MEM_OBJECT_ALLOCATION_FAILURE;
    if (error != CL_SUCCESS)
        fail(memory ? WARPGYM_CHILD_OUT_OF_MEMORY : WARPGYM_CHILD_RUNTIME_ERROR,
             "%s: OpenCL error %d", what, error);
}

static bool receive(void *message, size_t bytes, int descriptors[DESCRIPTORS])
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(DESCRIPTORS * sizeof(int))];
    } ancillary;
    struct iovec vector = {.iov_base = message, .iov_len = bytes};
    struct msghdr header = {.msg_iov = &vector,
                            .msg_iovlen = 1,
                            .msg_control = &ancillary,
                            .msg_controllen = sizeof ancillary};
    for (int i = 0; i < DESCRIPTORS; i++)
        descriptors[i] = -1;
    if (recvmsg(WARPGYM_CHILD_CHANNEL, &header, MSG_CMSG_CLOEXEC) <= 0)
        return false;
    struct cmsghdr *passed = CMSG_FIRSTHDR(&header);
    if (passed && passed->cmsg_type == SCM_RIGHTS)
        memcpy(descriptors, CMSG_DATA(passed), passed->cmsg_len - CMSG_LEN(0));
    return true;
}

static void open_candidate(struct opencl *opencl, const int descriptors[DESCRIPTORS])
{
    size_t bytes;
    cl_int error;
    opencl->source = read_all(descriptors[0], &bytes);
    unsigned char *binary = (unsigned char *)read_all(descriptors[1], &bytes);
    const unsigned char *first = binary;
    if (!opencl->source || !binary || !open_device(opencl, opencl->open.threads))
        fail(WARPGYM_CHILD_UNSUPPORTED, "there is no OpenCL device for the CPU");
    opencl->local = local_size(opencl->source);
    opencl->program = clCreateProgramWithBinary(opencl->context, 1, &opencl->device, &bytes, &first,
                                                NULL, &error);
    if (error == CL_SUCCESS)
        error = clBuildProgram(opencl->program, 1, &opencl->device, "", NULL, NULL);
    if (error == CL_SUCCESS)
        opencl->kernel = clCreateKernel(opencl->program, "solution", &error);
    if (error != CL_SUCCESS)
        fail(WARPGYM_CHILD_LOAD_ERROR, "there is no `__kernel void solution`");
    cl_uint wanted = 0;
    clGetKernelInfo(opencl->kernel, CL_KERNEL_NUM_ARGS, sizeof wanted, &wanted, NULL);
    if (wanted != opencl->open.parameter_count)
        fail(WARPGYM_CHILD_LOAD_ERROR, "`solution` takes %u arguments, and the problem has %u",
             wanted, opencl->open.parameter_count);
    opencl->queue = clCreateCommandQueue(opencl->context, opencl->device, 0, &error);
    check(error, "cannot make a queue");
    free(binary);
    say_word(WARPGYM_CHILD_OPENED, 0);
}

static bool is_array(const struct warpgym_child_parameter *parameter)
{
    return parameter->role != WARPGYM_CHILD_SIZE && parameter->role != WARPGYM_CHILD_SCALAR;
}

/* The device computes in the memory itself: it is the host's, and nothing is copied. */
static void map(struct opencl *opencl, const struct warpgym_child_map *wanted, int descriptor)
{
    cl_int error;
    if (descriptor >= 0) {
        if (opencl->memory)
            munmap(opencl->memory, opencl->map.memory_bytes);
        opencl->memory = mmap(NULL, wanted->memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                              descriptor, 0);
        if (opencl->memory == MAP_FAILED)
            fail(WARPGYM_CHILD_OUT_OF_MEMORY, "the arguments do not fit into the memory limit");
    }
    opencl->map = *wanted;
    for (uint32_t i = 0; i < wanted->argument_count; i++) {
        const struct warpgym_child_parameter *parameter = &opencl->open.parameters[i];
        if (!is_array(parameter))
            continue;
        if (opencl->buffers[i])
            clReleaseMemObject(opencl->buffers[i]);
        opencl->buffers[i] = clCreateBuffer(opencl->context,
                                            CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                            wanted->arguments[i].count *
                                                element_bytes[parameter->element],
                                            opencl->memory + wanted->arguments[i].offset, &error);
        check(error, "cannot make a buffer");
        check(clSetKernelArg(opencl->kernel, i, sizeof(cl_mem), &opencl->buffers[i]),
              parameter->name);
    }
    say_word(WARPGYM_CHILD_MAPPED, 0);
}

static size_t value_of(const struct opencl *opencl, const char *name, size_t length)
{
    uint64_t value;
    for (uint32_t i = 0; i < opencl->open.parameter_count; i++) {
        const struct warpgym_child_parameter *parameter = &opencl->open.parameters[i];
        if (parameter->role != WARPGYM_CHILD_SIZE || strlen(parameter->name) != length ||
            memcmp(parameter->name, name, length) != 0)
            continue;
        memcpy(&value, opencl->memory + opencl->map.arguments[i].offset, sizeof value);
        return value;
    }
    return strtoull(name, NULL, 10);
}

static size_t global_size(const struct opencl *opencl)
{
    static const char word_bytes[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const char *text = remark(opencl->source, "global");
    size_t items = 1;
    if (!text) {
        uint32_t i = 0;
        while (i + 1 < opencl->open.parameter_count &&
               opencl->open.parameters[i].role != WARPGYM_CHILD_OUT &&
               opencl->open.parameters[i].role != WARPGYM_CHILD_INOUT)
            i++;
        items = opencl->map.arguments[i].count;
    }
    while (text && *text && *text != '\n') {
        size_t length = strspn(text, word_bytes);
        if (length > 0)
            items *= value_of(opencl, text, length);
        text += length > 0 ? length : 1;
    }
    size_t groups = (items + opencl->local - 1) / opencl->local;
    return (groups > 0 ? groups : 1) * opencl->local;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void call(struct opencl *opencl)
{
    uint64_t start_ns = now_ns();
    size_t global = global_size(opencl);
    for (uint32_t i = 0; i < opencl->map.argument_count; i++)
        if (!is_array(&opencl->open.parameters[i]))
            check(clSetKernelArg(opencl->kernel, i,
                                 element_bytes[opencl->open.parameters[i].element],
                                 opencl->memory + opencl->map.arguments[i].offset),
                  opencl->open.parameters[i].name);
    check(clEnqueueNDRangeKernel(opencl->queue, opencl->kernel, 1, NULL, &global, &opencl->local, 0,
                                 NULL, NULL),
          "cannot start the kernel");
    check(clFinish(opencl->queue), "the kernel failed");
    struct warpgym_child_done done = {.type = WARPGYM_CHILD_DONE, .own_ns = now_ns() - start_ns};
    say(&done, sizeof done);
}

static int serve(void)
{
    static struct opencl opencl;
    static union {
        uint32_t type;
        struct warpgym_child_open open;
        struct warpgym_child_map map;
        struct warpgym_child_call call;
    } message;
    int descriptors[DESCRIPTORS];
    say_word(WARPGYM_CHILD_HELLO, WARPGYM_CHILD_VERSION);
    while (receive(&message, sizeof message, descriptors)) {
        if (message.type == WARPGYM_CHILD_OPEN) {
            opencl.open = message.open;
            open_candidate(&opencl, descriptors);
        } else if (message.type == WARPGYM_CHILD_MAP) {
            map(&opencl, &message.map, descriptors[0]);
        } else if (message.type == WARPGYM_CHILD_CALL) {
            call(&opencl);
        }
        for (int i = 0; i < DESCRIPTORS; i++)
            if (descriptors[i] >= 0)
                close(descriptors[i]);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "compile") == 0)
        return compile(argv[2], argv[3]);
    return serve();
}
