/* module: Python modules of C++ functions, with pybind11's manners. */
#include "python.h"

#include <climits>
#include <cstring>
#include <new>
#include <stdexcept>

namespace warpgym
{

bool load_signed(Object object, bool convert, int64_t least, int64_t most, int64_t *value)
{
    if (PyFloat_Check(object) || (!convert && !PyLong_Check(object) && !PyIndex_Check(object)))
        return false;
    Ref whole(PyLong_Check(object) ? Py_NewRef(object) : PyNumber_Index(object));
    if (!whole && convert && PyNumber_Check(object)) {
        PyErr_Clear();
        whole = Ref(PyNumber_Long(object));
    }
    int overflow = 1;
    long long found = whole ? PyLong_AsLongLongAndOverflow(whole.get(), &overflow) : 0;
    PyErr_Clear();
    *value = found;
    return whole && !overflow && found >= least && found <= most;
}

bool load_unsigned(Object object, bool convert, uint64_t most, uint64_t *value)
{
    int64_t small;
    if (load_signed(object, convert, INT64_MIN, INT64_MAX, &small)) {
        *value = static_cast<uint64_t>(small);
        return small >= 0 && *value <= most;
    }
    if (!PyLong_Check(object))
        return false;
    *value = PyLong_AsUnsignedLongLong(object);
    bool fits = !PyErr_Occurred() && *value <= most;
    PyErr_Clear();
    return fits;
}

bool load_real(Object object, bool convert, double *value)
{
    if (!convert && !PyFloat_Check(object))
        return false;
    *value = PyFloat_AsDouble(object);
    bool fits = !PyErr_Occurred();
    PyErr_Clear();
    return fits;
}

bool load_truth(Object object, bool convert, bool *value)
{
    if (object == Py_True || object == Py_False)
        return *value = object == Py_True, true;
    PyNumberMethods *number = Py_TYPE(object)->tp_as_number;
    if (!convert || (object != Py_None && !(number && number->nb_bool)))
        return false;
    int truth = PyObject_IsTrue(object);
    PyErr_Clear();
    *value = truth == 1;
    return truth >= 0;
}

bool load_text(Object object, const char **bytes, size_t *count)
{
    Py_ssize_t length = 0;
    if (PyBytes_Check(object)) {
        *bytes = PyBytes_AS_STRING(object);
        length = PyBytes_GET_SIZE(object);
    } else if (!PyUnicode_Check(object) || !(*bytes = PyUnicode_AsUTF8AndSize(object, &length))) {
        PyErr_Clear();
        return false;
    }
    *count = static_cast<size_t>(length);
    return true;
}

bool load_scalar(Object object, c10::Scalar *value)
{
    int64_t whole;
    double real;
    if (PyBool_Check(object))
        return *value = c10::Scalar(object == Py_True), true;
    if (PyLong_Check(object))
        return load_signed(object, false, INT64_MIN, INT64_MAX, &whole) &&
               (*value = c10::Scalar(whole), true);
    return load_real(object, true, &real) && (*value = c10::Scalar(real), true);
}

bool is_none(Object object)
{
    return object == Py_None;
}

int64_t sequence_length(Object object)
{
    if (!PySequence_Check(object) || PyUnicode_Check(object) || PyBytes_Check(object))
        return -1;
    Py_ssize_t length = PySequence_Size(object);
    PyErr_Clear();
    return length;
}

Object sequence_item(Object object, int64_t index)
{
    return checked(PySequence_GetItem(object, static_cast<Py_ssize_t>(index))).take();
}

void release(Object object)
{
    Py_XDECREF(object);
}

Object make_none()
{
    return Py_NewRef(Py_None);
}
Object make_signed(int64_t value)
{
    return checked(PyLong_FromLongLong(value)).take();
}
Object make_unsigned(uint64_t value)
{
    return checked(PyLong_FromUnsignedLongLong(value)).take();
}
Object make_real(double value)
{
    return checked(PyFloat_FromDouble(value)).take();
}
Object make_truth(bool value)
{
    return PyBool_FromLong(value);
}
Object make_text(const char *bytes, size_t count)
{
    return checked(PyUnicode_DecodeUTF8(bytes, static_cast<Py_ssize_t>(count), nullptr)).take();
}
Object make_list(int64_t count, bool tuple)
{
    auto length = static_cast<Py_ssize_t>(count);
    return checked(tuple ? PyTuple_New(length) : PyList_New(length)).take();
}
void set_item(Object list, bool tuple, int64_t index, Object item)
{
    if (tuple)
        PyTuple_SET_ITEM(list, static_cast<Py_ssize_t>(index), item);
    else
        PyList_SET_ITEM(list, static_cast<Py_ssize_t>(index), item);
}

/* The exception at hand as a Python error. */
static void set_error()
{
    static PyObject *const kinds[] = {PyExc_RuntimeError, PyExc_ValueError, PyExc_IndexError,
                                      PyExc_TypeError, PyExc_NotImplementedError};
    try {
        throw;
    } catch (const PythonError &error) {
        error.restore();
    } catch (const c10::Error &error) {
        PyErr_SetString(kinds[static_cast<size_t>(error.kind())], error.what());
    } catch (const std::bad_alloc &error) {
        PyErr_SetString(PyExc_MemoryError, error.what());
    } catch (const std::out_of_range &error) {
        PyErr_SetString(PyExc_IndexError, error.what());
    } catch (const std::invalid_argument &error) {
        PyErr_SetString(PyExc_ValueError, error.what());
    } catch (const std::domain_error &error) {
        PyErr_SetString(PyExc_ValueError, error.what());
    } catch (const std::length_error &error) {
        PyErr_SetString(PyExc_ValueError, error.what());
    } catch (const std::overflow_error &error) {
        PyErr_SetString(PyExc_OverflowError, error.what());
    } catch (const std::exception &error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    } catch (...) {
        PyErr_SetString(PyExc_RuntimeError, "Caught an unknown exception!");
    }
}

#define WARPGYM_ARGUMENTS 64

/* Puts positional and named arguments in their places; false: they do not fit this overload. */
static bool arrange(const Function &function, PyObject *const *given, size_t count, PyObject *names,
                    PyObject **arguments)
{
    if (count > function.count)
        return false;
    for (size_t i = 0; i < function.count; i++)
        arguments[i] = i < count ? given[i] : nullptr;
    Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
    for (Py_ssize_t n = 0; n < named; n++) {
        size_t i = 0;
        while (i < function.count &&
               !(function.parameters[i].name &&
                 PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, n),
                                                  function.parameters[i].name) == 0))
            i++;
        if (i == function.count || arguments[i])
            return false;
        arguments[i] = given[count + static_cast<size_t>(n)];
    }
    for (size_t i = 0; i < function.count; i++)
        if (!arguments[i] && !(arguments[i] = function.parameters[i].otherwise))
            return false;
    return true;
}

static void add_signature(Text &text, const Function &function)
{
    text << "(";
    for (size_t i = 0; i < function.count; i++) {
        const Parameter &parameter = function.parameters[i];
        text << (i ? ", " : "");
        if (parameter.name)
            text << parameter.name;
        else
            text << "arg" << i;
        text << ": " << parameter.type;
        if (parameter.otherwise) {
            Ref shown(PyObject_Repr(parameter.otherwise));
            text << " = " << (shown ? PyUnicode_AsUTF8(shown.get()) : "...");
        }
    }
    text << ") -> " << function.result;
}

/* In pybind11's words. */
static PyObject *refuse(const Function *functions, PyObject *const *given, size_t count)
{
    Text text;
    text << functions->name
         << "(): incompatible function arguments. The following argument types are supported:\n";
    size_t number = 1;
    for (const Function *function = functions; function; function = function->next) {
        text << "    " << number++ << ". ";
        add_signature(text, *function);
        text << "\n";
    }
    text << "\nInvoked with: ";
    for (size_t i = 0; i < count; i++) {
        Ref shown(PyObject_Repr(given[i]));
        const char *words = shown ? PyUnicode_AsUTF8(shown.get()) : nullptr;
        text << (i ? ", " : "") << (words ? words : "<repr raised Error>");
        PyErr_Clear();
    }
    PyErr_SetString(PyExc_TypeError, text.c_str());
    return nullptr;
}

static PyObject *call_any(PyObject *self, PyObject *const *given, Py_ssize_t nargs, PyObject *names)
{
    auto *functions = static_cast<Function *>(PyCapsule_GetPointer(self, nullptr));
    auto count = static_cast<size_t>(PyVectorcall_NARGS(static_cast<size_t>(nargs)));
    PyObject *arguments[WARPGYM_ARGUMENTS];
    try {
        /* With several, first the one that fits without turning one number into another. */
        for (int convert = functions->next ? 0 : 1; convert < 2; convert++)
            for (const Function *function = functions; function; function = function->next) {
                if (!arrange(*function, given, count, names, arguments))
                    continue;
                PyObject *result = function->call(function->target, arguments, convert != 0);
                if (result)
                    return result;
            }
    } catch (...) {
        set_error();
        return nullptr;
    }
    return refuse(functions, given, count);
}

static Function *kept(const Function &function, const Parameter *named, size_t named_count)
{
    auto *made = new Function(function);
    made->name = strdup(function.name);
    TORCH_CHECK(made->count <= WARPGYM_ARGUMENTS, made->name, " has too many parameters");
    TORCH_CHECK(named_count == 0 || named_count == made->count, made->name,
                ": as many names as parameters were expected");
    for (size_t i = 0; i < named_count; i++) {
        made->parameters[i].name = strdup(named[i].name);
        made->parameters[i].otherwise = named[i].otherwise;
    }
    return made;
}

/* Overloads of a name hang behind the first. */
static bool chain(Object module, Function *made)
{
    Ref there(PyObject_GetAttrString(module, made->name));
    PyErr_Clear();
    if (!there || !PyCFunction_Check(there.get()))
        return false;
    PyObject *capsule = PyCFunction_GET_SELF(there.get());
    if (!capsule || !PyCapsule_CheckExact(capsule))
        return false;
    auto *last = static_cast<Function *>(PyCapsule_GetPointer(capsule, nullptr));
    while (last->next)
        last = last->next;
    last->next = made;
    return true;
}

void define(Object module, const Function &function, const Parameter *named, size_t named_count)
{
    Function *made = kept(function, named, named_count);
    if (chain(module, made))
        return;
    Text help;
    help << made->name;
    add_signature(help, *made);
    help << "\n\n" << (made->help ? made->help : "");
    auto *method = new PyMethodDef{made->name, nullptr, METH_FASTCALL | METH_KEYWORDS,
                                   strdup(help.c_str())};
    method->ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(call_any));
    Ref capsule = checked(PyCapsule_New(made, nullptr, nullptr));
    Ref name = checked(PyObject_GetAttrString(module, "__name__"));
    Ref callable = checked(PyCFunction_NewEx(method, capsule.get(), name.get()));
    if (PyObject_SetAttrString(module, made->name, callable.get()) < 0)
        throw_python_error();
}

void set_help(Object module, const char *text)
{
    set_attribute(module, "__doc__", make_text(text, strlen(text)));
}

void set_attribute(Object module, const char *name, Object value)
{
    Ref held(value);
    if (PyObject_SetAttrString(module, name, value) < 0)
        throw_python_error();
}

Object start_module(const char *name, void (*fill)(Object module))
{
    try {
        learn_tensors();
        auto *definition = new PyModuleDef{PyModuleDef_HEAD_INIT,
                                           strdup(name),
                                           nullptr,
                                           -1,
                                           nullptr,
                                           nullptr,
                                           nullptr,
                                           nullptr,
                                           nullptr};
        Ref module = checked(PyModule_Create(definition));
        fill(module.get());
        return module.take();
    } catch (...) {
        set_error();
        return nullptr;
    }
}

} // namespace warpgym

namespace pybind11
{

gil_scoped_release::gil_scoped_release() : state_(PyEval_SaveThread())
{
}
gil_scoped_release::~gil_scoped_release()
{
    PyEval_RestoreThread(static_cast<PyThreadState *>(state_));
}

} // namespace pybind11
