/* python: operators by name, tensors between C++ and Python. */
#include "python.h"

#include <cstring>

namespace at
{
class TensorBase;
}
/* PyTorch's own: a tensor as a Python object, the same one for the same tensor. */
PyObject *THPVariable_Wrap(const at::TensorBase &tensor);

namespace warpgym
{

PythonError::PythonError(const char *text, PyObject *type, PyObject *value, PyObject *trace)
    : c10::Error(Raise::runtime, text), type_(type), value_(value), trace_(trace)
{
}
PythonError::PythonError(const PythonError &other)
    : c10::Error(other), type_(other.type_), value_(other.value_), trace_(other.trace_)
{
    Lock lock;
    Py_XINCREF(type_);
    Py_XINCREF(value_);
    Py_XINCREF(trace_);
}
PythonError::~PythonError()
{
    Lock lock;
    Py_XDECREF(type_);
    Py_XDECREF(value_);
    Py_XDECREF(trace_);
}
void PythonError::restore() const
{
    PythonError copy(*this);
    PyErr_Restore(std::exchange(copy.type_, nullptr), std::exchange(copy.value_, nullptr),
                  std::exchange(copy.trace_, nullptr));
}

void throw_python_error()
{
    PyObject *type = nullptr;
    PyObject *value = nullptr;
    PyObject *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    Ref text(value ? PyObject_Str(value) : nullptr);
    const char *words = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    PyErr_Clear();
    throw PythonError(words ? words : "a Python error", type, value, trace);
}

Ref checked(PyObject *object)
{
    if (!object)
        throw_python_error();
    return Ref(object);
}

static PyObject *torch_module()
{
    static PyObject *const module = checked(PyImport_ImportModule("torch")).take();
    return module;
}

/* "a.b.c" below `from`; NULL without an error where there is none. */
static Ref attribute_path(PyObject *from, const char *path)
{
    Py_INCREF(from);
    Ref at(from);
    while (at && *path) {
        size_t length = strcspn(path, ".");
        Ref name = checked(PyUnicode_FromStringAndSize(path, static_cast<Py_ssize_t>(length)));
        at = Ref(PyObject_GetAttr(at.get(), name.get()));
        path += length + (path[length] == '.');
    }
    PyErr_Clear();
    return at;
}

/* Names are literals: their address distinguishes them, and the content when it does not. */
struct Known {
    const char *name;
    PyObject *object;
};
#define WARPGYM_KNOWN 256

PyObject *torch_function(const char *name)
{
    static Known known[WARPGYM_KNOWN];
    static size_t count;
    for (size_t i = 0; i < count; i++)
        if (known[i].name == name || strcmp(known[i].name, name) == 0)
            return known[i].object;
    Ref found = attribute_path(torch_module(), name);
    if (!found) {
        Text path;
        path << "nn.functional." << name;
        found = attribute_path(torch_module(), path.c_str());
    }
    TORCH_CHECK(found, "this PyTorch has no ", name);
    PyObject *object = found.take();
    if (count < WARPGYM_KNOWN)
        known[count++] = {name, object};
    return object;
}

/* A tensor in Python is a header and then, sooner or later, the address of its inside. Where, is
 * learnt from a tensor that reports that address; 0: requested each time. */
static size_t inside_offset;
static PyTypeObject *tensor_type, *parameter_type;

static void *query_inside(PyObject *object)
{
    Ref address = checked(PyObject_GetAttrString(object, "_cdata"));
    return PyLong_AsVoidPtr(address.get());
}

void learn_tensors()
{
    Lock lock;
    if (tensor_type)
        return;
    parameter_type = reinterpret_cast<PyTypeObject *>(torch_function("nn.Parameter"));
    auto *type = reinterpret_cast<PyTypeObject *>(torch_function("Tensor"));
    Ref size = checked(PyLong_FromLong(0));
    Ref one = checked(PyObject_CallOneArg(torch_function("empty"), size.get()));
    Ref other = checked(PyObject_CallOneArg(torch_function("empty"), size.get()));
    for (size_t at = sizeof(PyObject); at + sizeof(void *) <= sizeof(PyObject) + 24;
         at += sizeof(void *)) {
        void *words[2];
        memcpy(&words[0], reinterpret_cast<char *>(one.get()) + at, sizeof words[0]);
        memcpy(&words[1], reinterpret_cast<char *>(other.get()) + at, sizeof words[1]);
        if (!inside_offset && words[0] == query_inside(one.get()) &&
            words[1] == query_inside(other.get()))
            inside_offset = at;
    }
    tensor_type = type;
}

bool load_tensor(Object object, at::Tensor *tensor)
{
    PyTypeObject *type = Py_TYPE(object);
    if (type != tensor_type && type != parameter_type && !PyType_IsSubtype(type, tensor_type))
        return false;
    void *inside;
    if (inside_offset)
        memcpy(&inside, reinterpret_cast<char *>(object) + inside_offset, sizeof inside);
    else
        inside = query_inside(object);
    Handle made = nullptr;
    if (aoti_torch_new_tensor_handle(reinterpret_cast<Handle>(&inside), &made) != 0)
        return false;
    *tensor = at::Tensor::owning(made);
    return true;
}

Ref object_of(const at::Tensor &tensor)
{
    if (!tensor.defined())
        return Ref(Py_NewRef(Py_None));
    return checked(THPVariable_Wrap(*reinterpret_cast<at::TensorBase *>(tensor.handle())));
}

Object make_tensor(const at::Tensor &tensor)
{
    return object_of(tensor).take();
}

static const char *dtype_name(c10::ScalarType type)
{
    static const char *const names[] = {"uint8", "int8",    "int16",   "int32",
                                        "int64", "float16", "float32", "float64"};
    auto number = static_cast<size_t>(type);
    return number < sizeof names / sizeof *names ? names[number]
           : type == c10::kBool                  ? "bool"
           : type == c10::kBFloat16              ? "bfloat16"
           : type == c10::kUInt16                ? "uint16"
           : type == c10::kUInt32                ? "uint32"
                                                 : "uint64";
}

Object make_dtype(c10::ScalarType type)
{
    return Py_NewRef(torch_function(dtype_name(type)));
}

bool load_dtype(Object object, c10::ScalarType *type)
{
#define X(cpp, name, number)                                                                       \
    if (object == torch_function(dtype_name(c10::ScalarType::name)))                               \
        return *type = c10::ScalarType::name, true;
    WARPGYM_SCALAR_TYPES(X)
#undef X
    return false;
}

bool load_device(Object object, c10::DeviceType *type, c10::DeviceIndex *index)
{
    Ref text(PyObject_Str(object));
    const char *words = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    PyErr_Clear();
    bool device = PyUnicode_Check(object) ||
                  reinterpret_cast<PyObject *>(Py_TYPE(object)) == torch_function("device");
    if (!device || !words)
        return false;
    c10::Device parsed(words);
    *type = parsed.type();
    *index = parsed.index();
    return true;
}

static Ref device_object(c10::Device device)
{
    Text text;
    text << device;
    Ref words = checked(PyUnicode_FromString(text.c_str()));
    return checked(PyObject_CallOneArg(torch_function("device"), words.get()));
}

static Ref scalar_object(c10::Scalar scalar)
{
    if (scalar.isFloatingPoint())
        return checked(PyFloat_FromDouble(scalar.toDouble()));
    return checked(scalar.isBoolean() ? PyBool_FromLong(scalar.toBool())
                                      : PyLong_FromLongLong(scalar.toLong()));
}

template <class T, class F> static Ref list_object(const Value &value, F make)
{
    Ref list = checked(PyTuple_New(static_cast<Py_ssize_t>(value.count)));
    for (size_t i = 0; i < value.count; i++)
        PyTuple_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i),
                         make(static_cast<const T *>(value.data)[i]).take());
    return list;
}

/* Positional arguments in the order given; what C++ passes by type and Python by name. */
class Arguments
{
    Ref positional_, named_;
    void name(const char *key, Ref object)
    {
        if (PyDict_SetItemString(named_.get(), key, object.get()) < 0)
            throw_python_error();
    }
    void add(Ref object)
    {
        if (PyList_Append(positional_.get(), object.get()) < 0)
            throw_python_error();
    }
    void add_options(const c10::TensorOptions &options)
    {
        if (options.has_dtype())
            name("dtype", Ref(make_dtype(options.dtype().toScalarType())));
        if (options.has_device())
            name("device", device_object(options.device()));
        if (options.requires_grad())
            name("requires_grad", Ref(Py_NewRef(Py_True)));
        if (options.pinned_memory())
            name("pin_memory", Ref(Py_NewRef(Py_True)));
    }
    void add_value(const Value &value)
    {
        static const char *const formats[] = {"contiguous_format", "preserve_format",
                                              "channels_last", "channels_last_3d"};
        switch (value.kind) {
        case Value::Kind::none:
            return add(Ref(Py_NewRef(Py_None)));
        case Value::Kind::tensor:
            return add(object_of(*static_cast<const at::Tensor *>(value.data)));
        case Value::Kind::scalar:
            return value.keyword ? name(value.keyword, scalar_object(value.scalar))
                                 : add(scalar_object(value.scalar));
        case Value::Kind::integers:
            return add(list_object<int64_t>(value, [](int64_t item) {
                return checked(PyLong_FromLongLong(item));
            }));
        case Value::Kind::tensors:
            return add(list_object<at::Tensor>(value, object_of));
        case Value::Kind::text:
            return add(checked(PyUnicode_FromString(static_cast<const char *>(value.data))));
        case Value::Kind::dtype:
            return name("dtype",
                        Ref(make_dtype(static_cast<c10::ScalarType>(value.scalar.toLong()))));
        case Value::Kind::device:
            return name("device", device_object(*static_cast<const c10::Device *>(value.data)));
        case Value::Kind::device_type:
            return name("device",
                        device_object(static_cast<c10::DeviceType>(value.scalar.toLong())));
        case Value::Kind::options:
            return add_options(*static_cast<const c10::TensorOptions *>(value.data));
        case Value::Kind::memory_format:
            return name("memory_format",
                        Ref(Py_NewRef(torch_function(formats[value.scalar.toLong() & 3]))));
        }
    }

  public:
    explicit Arguments(Values values)
        : positional_(checked(PyList_New(0))), named_(checked(PyDict_New()))
    {
        for (const Value &value : values)
            add_value(value);
    }
    Ref call(PyObject *function) const
    {
        Ref tuple = checked(PyList_AsTuple(positional_.get()));
        bool plain = PyDict_Size(named_.get()) == 0;
        return checked(PyObject_Call(function, tuple.get(), plain ? nullptr : named_.get()));
    }
};

static at::Tensor tensor_of(const Ref &object, const char *name)
{
    at::Tensor tensor;
    TORCH_CHECK(load_tensor(object.get(), &tensor), name, " gave no tensor");
    return tensor;
}

static Ref method_result(const at::Tensor &self, const char *name, Values values)
{
    TORCH_CHECK(self.defined(), "Tensor::", name, ": the tensor is undefined");
    Ref object = object_of(self);
    Ref method = checked(PyObject_GetAttrString(object.get(), name));
    return Arguments(values).call(method.get());
}

at::Tensor call_method(const at::Tensor &self, const char *name, Values values)
{
    Lock lock;
    return tensor_of(method_result(self, name, values), name);
}

at::Tensor call_function(const char *name, Values values)
{
    Lock lock;
    return tensor_of(Arguments(values).call(torch_function(name)), name);
}

std::vector<at::Tensor> call_for_list(const char *name, Values values)
{
    Lock lock;
    Ref result = Arguments(values).call(torch_function(name));
    Ref list = checked(PySequence_Fast(result.get(), "tensors were expected"));
    std::vector<at::Tensor> tensors;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); i++) {
        at::Tensor tensor;
        TORCH_CHECK(load_tensor(PySequence_Fast_GET_ITEM(list.get(), i), &tensor), name,
                    " gave something else than tensors");
        tensors.push_back(std::move(tensor));
    }
    return tensors;
}

void call_for_many(const char *name, Values values, at::Tensor *results, size_t count)
{
    std::vector<at::Tensor> tensors = call_for_list(name, values);
    TORCH_CHECK(tensors.size() == count, name, " gave ", tensors.size(), " tensors");
    for (size_t i = 0; i < count; i++)
        results[i] = std::move(tensors[i]);
}

bool call_for_truth(const at::Tensor &self, const char *name, Values values)
{
    Lock lock;
    return PyObject_IsTrue(method_result(self, name, values).get()) == 1;
}

bool attribute_truth(const at::Tensor &self, const char *name)
{
    Lock lock;
    Ref object = object_of(self);
    return PyObject_IsTrue(checked(PyObject_GetAttrString(object.get(), name)).get()) == 1;
}

c10::Scalar call_for_scalar(const at::Tensor &self, const char *name, Values values)
{
    Lock lock;
    c10::Scalar scalar;
    Ref result = method_result(self, name, values);
    TORCH_CHECK(load_scalar(result.get(), &scalar), name, " gave no number");
    return scalar;
}

void call_torch(const char *name, int argument)
{
    Lock lock;
    Ref number = checked(PyLong_FromLong(argument));
    checked(PyObject_CallOneArg(torch_function(name), number.get()));
}

int64_t query_torch_number(const char *name)
{
    Lock lock;
    return PyLong_AsLongLong(checked(PyObject_CallNoArgs(torch_function(name))).get());
}

void warn(const Text &text)
{
    Lock lock;
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0)
        throw_python_error();
}

} // namespace warpgym
