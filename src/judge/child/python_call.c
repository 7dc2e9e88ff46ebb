#include "judge/child/python_call.h"

#include "base/array.h"
#include "base/clock.h"
#include "device/library.h"
#include "judge/child/segments.h"
#include "judge/process/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define IS_LIST (UINT64_C(1) << 25) /* of PyType_GetFlags: the type, or one derived from it */
#define IS_TUPLE (UINT64_C(1) << 26)
#define DEPTH_MAX 8 /* of lists in lists */
#define BELLS 3     /* the shortest of so many */

static struct {
    void *(*call)(void *callable, void *arguments, void *keywords);
    void *(*call_with)(void *callable, ...); /* ended by NULL */
    void *(*type_of)(void *object);
    unsigned long (*type_flags)(void *type);
    void (*keep)(void *object);
    void (*drop)(void *object);
    ssize_t (*tuple_size)(void *tuple);
    void *(*tuple_item)(void *tuple, ssize_t at);
    ssize_t (*list_size)(void *list);
    void *(*list_item)(void *list, ssize_t at);
    void *(*list_new)(ssize_t size);
    int (*list_append)(void *list, void *item);
    int (*bytes_of)(void *object, char **data, ssize_t *count);
    void *(*from_seed)(unsigned long long seed);
    unsigned long long (*to_address)(void *object);
    long long (*to_integer)(void *object);
    double (*to_real)(void *object);
    int (*is_true)(void *object);
    void *(*error)(void);
    void (*clear_error)(void);
} python;

#define PYTHON(field, name)                                                                        \
    {                                                                                              \
        name, offsetof(__typeof__(python), field), false                                           \
    }
static const struct library_function functions[] = {
    PYTHON(call, "PyObject_Call"),
    PYTHON(call_with, "PyObject_CallFunctionObjArgs"),
    PYTHON(type_of, "PyObject_Type"),
    PYTHON(type_flags, "PyType_GetFlags"),
    PYTHON(keep, "Py_IncRef"),
    PYTHON(drop, "Py_DecRef"),
    PYTHON(tuple_size, "PyTuple_Size"),
    PYTHON(tuple_item, "PyTuple_GetItem"),
    PYTHON(list_size, "PyList_Size"),
    PYTHON(list_item, "PyList_GetItem"),
    PYTHON(list_new, "PyList_New"),
    PYTHON(list_append, "PyList_Append"),
    PYTHON(bytes_of, "PyBytes_AsStringAndSize"),
    PYTHON(from_seed, "PyLong_FromUnsignedLongLong"),
    PYTHON(to_address, "PyLong_AsUnsignedLongLong"),
    PYTHON(to_integer, "PyLong_AsLongLong"),
    PYTHON(to_real, "PyFloat_AsDouble"),
    PYTHON(is_true, "PyObject_IsTrue"),
    PYTHON(error, "PyErr_Occurred"),
    PYTHON(clear_error, "PyErr_Clear"),
};

static int channel;
static void *objects[OBJECT_COUNT];
static void *dtypes[DTYPE_COUNT];

/* The answer at hand. */
static struct wire_done done;
static void *outputs;  /* a list */
static void *steps_on; /* the steps of the GPU that it lies on; NULL: on the CPU */
static bool runs_ahead;

int python_call_open(int judge, void *given)
{
    library_find(NULL, functions, COUNT(functions), &python);
    for (size_t i = 0; i < COUNT(functions); i++)
        if (!*(void **)((char *)&python + functions[i].offset))
            return -1;
    channel = judge;
    python.keep(given);
    for (int i = 0; i < OBJECT_COUNT; i++)
        if (!(objects[i] = python.tuple_item(given, i)))
            return -1;
    for (int i = 0; i < DTYPE_COUNT; i++)
        if (!(dtypes[i] = python.tuple_item(objects[OBJECT_DTYPES], i)))
            return -1;
    return 0;
}

void python_call_runs_ahead(void)
{
    runs_ahead = true;
}

/* --- what came out ---------------------------------------------------------------------------- */

static bool says_yes(enum python_call_object question, void *tensor)
{
    void *answer = python.call_with(objects[question], tensor, NULL);
    bool yes = answer && python.is_true(answer) == 1;
    if (answer)
        python.drop(answer);
    return yes;
}

static bool describe_dtype(void *tensor, struct wire_output *output)
{
    void *dtype = python.call_with(objects[OBJECT_DTYPE], tensor, NULL);
    output->dtype = 0;
    while (output->dtype < DTYPE_COUNT && dtypes[output->dtype] != dtype)
        output->dtype++;
    if (dtype)
        python.drop(dtype);
    return output->dtype < DTYPE_COUNT;
}

static bool describe_shape(void *tensor, struct wire_output *output)
{
    void *shape = python.call_with(objects[OBJECT_SHAPE], tensor, NULL);
    ssize_t dimensions = shape ? python.tuple_size(shape) : -1;
    if (dimensions >= 0 && dimensions <= LIMIT_DIMENSIONS) {
        output->dimensions = (uint32_t)dimensions;
        output->bytes = dtype_facts(output->dtype)->bytes;
        for (ssize_t i = 0; i < dimensions; i++) {
            output->shape[i] = python.to_integer(python.tuple_item(shape, i));
            output->bytes *= (uint64_t)output->shape[i];
        }
    }
    if (shape)
        python.drop(shape);
    return dimensions >= 0 && dimensions <= LIMIT_DIMENSIONS;
}

static bool describe_place(void *tensor, struct wire_output *output)
{
    void *address = python.call_with(objects[OBJECT_POINTER], tensor, NULL);
    if (!address)
        return false;
    output->address = python.to_address(address);
    python.drop(address);
    return !steps_on || output->bytes == 0 || segments_hold((void *)(uintptr_t)output->address);
}

static bool add_tensor(void *tensor)
{
    if (done.count == WIRE_OUTPUTS)
        return false;
    struct wire_output *output = &done.outputs[done.count];
    memset(output, 0, sizeof *output);
    if (!says_yes(OBJECT_HERE, tensor) || !says_yes(OBJECT_CONTIGUOUS, tensor) ||
        says_yes(OBJECT_NEGATED, tensor) || !describe_dtype(tensor, output) ||
        !describe_shape(tensor, output) || !describe_place(tensor, output) ||
        python.list_append(outputs, tensor) < 0)
        return false;
    done.count++;
    return true;
}

/* False: it is for `plain`. */
static bool add_answer(void *answer, int depth) /* NOLINT(misc-no-recursion): DEPTH_MAX */
{
    void *type = python.type_of(answer);
    uint64_t flags = python.type_flags(type);
    python.drop(type); /* its object has another reference */
    if (type == objects[OBJECT_TENSOR] || type == objects[OBJECT_PARAMETER])
        return add_tensor(answer);
    if (answer == objects[OBJECT_NONE])
        return true;
    if (depth == DEPTH_MAX || !(flags & (IS_LIST | IS_TUPLE)))
        return false;
    bool list = flags & IS_LIST;
    ssize_t count = list ? python.list_size(answer) : python.tuple_size(answer);
    bool added = true;
    for (ssize_t i = 0; added && i < count; i++)
        added = add_answer(list ? python.list_item(answer, i) : python.tuple_item(answer, i),
                           depth + 1);
    return added;
}

/* As Python describes them. */
static bool describe_in_python(void *answers, void *plain)
{
    char *described;
    ssize_t bytes;
    void *pair = python.call_with(plain, answers, NULL);
    void *tensors = pair ? python.tuple_item(pair, 0) : NULL;
    void *text = tensors ? python.tuple_item(pair, 1) : NULL;
    bool good = text && python.bytes_of(text, &described, &bytes) == 0 &&
                bytes <= (ssize_t)sizeof done.outputs;
    if (good) {
        memcpy(done.outputs, described, (size_t)bytes);
        done.count = (uint32_t)((size_t)bytes / sizeof *done.outputs);
        python.drop(outputs);
        python.keep(outputs = tensors);
    }
    if (pair)
        python.drop(pair);
    return good;
}

static bool describe_answers(void *answers, void *plain)
{
    ssize_t count = python.list_size(answers);
    bool added = true;
    for (ssize_t i = 0; added && i < count; i++)
        added = add_answer(python.list_item(answers, i), 0);
    if (added)
        return true;
    python.clear_error();
    return describe_in_python(answers, plain);
}

/* --- the call --------------------------------------------------------------------------------- */

static bool call_models(void *model, void *inputs, ssize_t first, ssize_t end, void *answers)
{
    for (ssize_t i = first; i < end; i++) {
        void *answer = python.call(model, python.tuple_item(inputs, i), NULL);
        if (!answer || python.list_append(answers, answer) < 0)
            return false;
        python.drop(answer); /* the list has it */
    }
    return true;
}

/* What a layer draws depends on the call's noise, which a candidate learns on the clock. */
static bool seed_generators(uint64_t noise)
{
    void *seeds = objects[OBJECT_SEEDS];
    void *seed = python.from_seed(noise % (UINT64_C(1) << 63));
    bool seeded = seed;
    for (ssize_t i = 0; seeded && i < python.tuple_size(seeds); i++) {
        void *result = python.call_with(python.tuple_item(seeds, i), seed, NULL);
        seeded = result;
        if (result)
            python.drop(result);
    }
    if (seed)
        python.drop(seed);
    return seeded;
}

static bool take_step(enum python_call_step step)
{
    void *result = python.call_with(python.tuple_item(steps_on, step), NULL);
    if (result)
        python.drop(result);
    return result;
}

static bool run_on_cpu(void *model, void *inputs, void *plain, void *answers)
{
    return call_models(model, inputs, 0, python.tuple_size(inputs), answers) &&
           describe_answers(answers, plain);
}

/* The bell first: to make the GPU this process's takes it longer than many a kernel. Times are
 * those of all calls at the rate of those after the first quarter, because the first starts from
 * nothing, which takes 40 to 200 µs. */
static bool run_on_gpu(void *model, void *inputs, void *plain, void *answers)
{
    ssize_t calls = python.tuple_size(inputs);
    ssize_t skipped = calls > 1 ? (calls + 3) / 4 : 0;
    double rate = (double)calls / (double)(calls - skipped);
    if (!take_step(STEP_BELL) || !take_step(STEP_SYNCHRONIZE) ||
        !call_models(model, inputs, 0, skipped, answers) || !take_step(STEP_FIRST_MARK))
        return false;
    int64_t start_ns = clock_now_ns();
    if (!call_models(model, inputs, skipped, calls, answers) || !describe_answers(answers, plain))
        return false;
    int64_t issue_ns = clock_now_ns() - start_ns;
    if (!take_step(STEP_LAST_MARK) || !take_step(STEP_SYNCHRONIZE))
        return false;
    void *elapsed = python.call_with(python.tuple_item(steps_on, STEP_ELAPSED), NULL);
    if (!elapsed)
        return false;
    done.own_ns = (uint64_t)(python.to_real(elapsed) * 1e6 * rate);
    done.issue_ns = runs_ahead ? (uint64_t)((double)issue_ns * rate) : 0;
    python.drop(elapsed);
    return true;
}

/* What ringing and waiting take on a GPU that is this process's: a candidate need not do it. */
static bool measure_bell(int64_t *bell_ns)
{
    *bell_ns = INT64_MAX;
    for (int i = 0; i < BELLS; i++) {
        int64_t start_ns = clock_now_ns();
        if (!take_step(STEP_BELL) || !take_step(STEP_SYNCHRONIZE))
            return false;
        int64_t took_ns = clock_now_ns() - start_ns;
        *bell_ns = took_ns < *bell_ns ? took_ns : *bell_ns;
    }
    return true;
}

/* Takes a CALL off the channel, and nothing else. */
static bool await_call(uint64_t *noise)
{
    struct wire_call wanted = {0};
    ssize_t got;
    do
        got = recv(channel, &wanted, sizeof wanted, MSG_PEEK);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof wanted || wanted.type != WIRE_CALL || wanted.mode != WIRE_RUN)
        return false;
    *noise = wanted.noise;
    return recv(channel, &wanted, sizeof wanted, 0) == got;
}

static bool say(const void *message, size_t bytes)
{
    ssize_t sent;
    do
        sent = send(channel, message, bytes, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)bytes;
}

static void *return_none(void)
{
    python.keep(objects[OBJECT_NONE]);
    return objects[OBJECT_NONE];
}

void *python_call(void *model, void *inputs, void *plain, void *steps)
{
    static const uint32_t awake[2] = {WIRE_AWAKE};
    uint64_t noise = 0;
    int64_t bell_ns = 0;
    steps_on = steps == objects[OBJECT_NONE] ? NULL : steps;
    if (steps_on && !measure_bell(&bell_ns))
        return NULL;
    void *answers = python.list_new(0);
    outputs = python.list_new(0);
    done.type = WIRE_DONE;
    done.count = 0;
    bool called = say(awake, sizeof awake) && await_call(&noise);
    int64_t start_ns = clock_now_ns();
    bool good = called && seed_generators(noise) &&
                (steps_on ? run_on_gpu(model, inputs, plain, answers)
                          : run_on_cpu(model, inputs, plain, answers));
    if (good) {
        done.own_ns = steps_on ? done.own_ns + (uint64_t)bell_ns
                               : (uint64_t)(clock_now_ns() - start_ns);
        say(&done, offsetof(struct wire_done, outputs) + done.count * sizeof *done.outputs);
    }
    python.drop(answers);
    if (good)
        return outputs;
    python.drop(outputs);
    return called ? NULL : return_none();
}
