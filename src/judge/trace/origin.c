#include "judge/trace/origin.h"

#include "base/array.h"

#include <dlfcn.h>
#include <string.h>
#include <unwind.h>

#define FRAMES_MAX 64
#define PYTHON_FRAMES_MAX 512
#define WRAPPER_MAGIC 0x466243b1u /* of __fatBinC_Wrapper_t, which nvcc makes for each object */

static const void *cupti_object;

struct stack {
    const void *frames[FRAMES_MAX]; /* addresses within the calls */
    int count;
};

static _Unwind_Reason_Code take_frame(struct _Unwind_Context *context, void *to)
{
    struct stack *stack = to;
    if (stack->count == FRAMES_MAX)
        return _URC_END_OF_STACK;
    stack->frames[stack->count++] = (const void *)(_Unwind_GetIP(context) - 1);
    return _URC_NO_REASON;
}

void origin_prepare(const void *cupti)
{
    cupti_object = objects_loaded(cupti);
}

/* Objects between the loader and us; only where they are the installation's. */
static bool is_plumbing(const void *loaded, const struct object *object)
{
    static const char *const names[] = {"libcuda.so", "libcudadebugger.so", "libcudart.so",
                                        "libcupti.so", "libffi.so"};
    const char *slash = strrchr(object->path, '/');
    const char *name = slash ? slash + 1 : object->path;
    if (loaded == cupti_object || loaded == objects_loaded((const void *)&origin_prepare))
        return true;
    for (size_t i = 0; i < COUNT(names); i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return objects_library(object);
    return false;
}

/* The code that called the driver; NULL, with an empty object: code without a file. False: the
 * stack could not be read that far. */
static bool find_caller(const void **address, struct object *object)
{
    struct stack stack = {.count = 0};
    const void *last = NULL;
    (void)_Unwind_Backtrace(take_frame, &stack);
    for (int i = 0; i < stack.count; i++) {
        const void *at = stack.frames[i];
        const void *loaded = objects_loaded(at);
        if (loaded && loaded == last)
            continue;
        last = loaded;
        *object = (struct object){0};
        if (loaded && objects_find(at, object) && is_plumbing(loaded, object))
            continue;
        *address = loaded ? at : NULL;
        return true;
    }
    return false;
}

/* What is used of Python's C API, when there is a Python. */
struct python {
    int (*is_initialized)(void);
    int (*hold)(void);
    void (*let_go)(int state);
    void *(*frame)(void);
    void *(*back)(void *frame);
    void *(*code)(void *frame);
    void *(*attribute)(void *object, const char *name);
    const char *(*text)(void *object, intptr_t *length);
    void (*forget)(void *object);
    void (*clear_error)(void);
};

static bool find_python(struct python *python)
{
    static const char *const names[] = {
        "Py_IsInitialized",
        "PyGILState_Ensure",
        "PyGILState_Release",
        "PyEval_GetFrame",
        "PyFrame_GetBack",
        "PyFrame_GetCode",
        "PyObject_GetAttrString",
        "PyUnicode_AsUTF8AndSize",
        "Py_DecRef",
        "PyErr_Clear",
    };
    void **slots = (void **)python;
    _Static_assert(sizeof *python == COUNT(names) * sizeof(void *), "one each");
    for (size_t i = 0; i < COUNT(names); i++)
        if (!(slots[i] = dlsym(RTLD_DEFAULT, names[i])))
            return false;
    return python->is_initialized() != 0;
}

/* Files of torch.compile. Not its run time, nor the helper with which its output compiles text:
 * a candidate may have written such text itself. */
static bool is_compiler_file(const char *path)
{
    static const struct {
        const char *part;
        bool compiler;
    } parts[] = {
        {"/torch/_inductor/runtime/", false},
        {"/torch/_inductor/async_compile.py", false},
        {"/torch/_inductor/", true},
        {"/torch/_dynamo/", true},
    };
    for (size_t i = 0; i < COUNT(parts); i++)
        if (strstr(path, parts[i].part))
            return parts[i].compiler;
    return false;
}

/* The frame is given up. */
static bool is_compiler_frame(const struct python *python, void *frame)
{
    void *code = python->code(frame);
    void *name = code ? python->attribute(code, "co_filename") : NULL;
    const char *path = name ? python->text(name, NULL) : NULL;
    bool is = path && is_compiler_file(path);
    if (!path)
        python->clear_error();
    if (name)
        python->forget(name);
    if (code)
        python->forget(code);
    return is;
}

static bool torch_is_compiling(void)
{
    struct python python;
    if (!find_python(&python))
        return false;
    int state = python.hold();
    void *frame = python.frame();
    bool found = false;
    bool owned = false; /* the first one is lent */
    for (int i = 0; frame && i < PYTHON_FRAMES_MAX && !found; i++) {
        found = is_compiler_frame(&python, frame);
        void *back = python.back(frame);
        if (owned)
            python.forget(frame);
        frame = back;
        owned = true;
    }
    if (frame && owned)
        python.forget(frame);
    python.let_go(state);
    return found;
}

static void judge_caller(struct origin *origin)
{
    const void *address = NULL;
    if (!find_caller(&address, &origin->object))
        *origin = (struct origin){.origin = TRACE_UNKNOWN, .evidence = TRACE_BY_NOTHING};
    else if (address && objects_passes_on(address))
        origin->origin = torch_is_compiling() ? TRACE_GENERATED : TRACE_OWN;
    else
        origin->origin = address && objects_library(&origin->object) ? TRACE_LIBRARY : TRACE_OWN;
}

/* nvcc's objects hand over a wrapper, which points to the code. */
static const void *follow_frame(const void *image)
{
    struct {
        uint32_t magic, version;
        const void *data, *more;
    } wrapper;
    memcpy(&wrapper, image, sizeof wrapper.magic);
    if (wrapper.magic != WRAPPER_MAGIC)
        return image;
    memcpy(&wrapper, image, sizeof wrapper);
    return wrapper.data;
}

void origin_of_image(const void *image, struct origin *origin)
{
    const void *code = image ? follow_frame(image) : NULL;
    *origin = (struct origin){.evidence = TRACE_BY_IMAGE};
    if (code && objects_find(code, &origin->object)) {
        origin->origin = objects_library(&origin->object) ? TRACE_LIBRARY : TRACE_OWN;
        return;
    }
    origin->evidence = TRACE_BY_LOADER;
    judge_caller(origin);
}

void origin_of_launch(struct origin *origin)
{
    *origin = (struct origin){.evidence = TRACE_BY_STACK};
    judge_caller(origin);
}
