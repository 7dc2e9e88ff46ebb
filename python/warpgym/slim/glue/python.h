/* python: calls of PyTorch's Python functions from C++, and errors on their way through it. */
#pragma once

#include <Python.h>

#include "shim.h"

namespace warpgym
{

/* A reference that is given back. */
class Ref
{
    PyObject *object_;

  public:
    explicit Ref(PyObject *object = nullptr) : object_(object)
    {
    }
    Ref(Ref &&other) noexcept : object_(std::exchange(other.object_, nullptr))
    {
    }
    Ref &operator=(Ref &&other) noexcept
    {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Ref()
    {
        Py_XDECREF(object_);
    }
    PyObject *get() const
    {
        return object_;
    }
    PyObject *take()
    {
        return std::exchange(object_, nullptr);
    }
    explicit operator bool() const
    {
        return object_ != nullptr;
    }
};

/* The interpreter's lock, for a scope: held already, or taken. */
class Lock
{
    PyGILState_STATE state_;

  public:
    Lock() : state_(PyGILState_Ensure())
    {
    }
    ~Lock()
    {
        PyGILState_Release(state_);
    }
    Lock(const Lock &) = delete;
};

/* A Python error as a C++ exception; `restore` makes it a Python error again. */
class PythonError : public c10::Error
{
    PyObject *type_, *value_, *trace_;

  public:
    PythonError(const char *text, PyObject *type, PyObject *value, PyObject *trace);
    PythonError(const PythonError &other);
    ~PythonError() override;
    void restore() const;
};

/* Throws the Python error that is set. */
[[noreturn]] void throw_python_error();
/* `object`, or what went wrong. */
Ref checked(PyObject *object);

/* A function of module torch ("cuda.synchronize"), looked up once for each name. */
PyObject *torch_function(const char *name);
void call_torch(const char *name, int argument);
int64_t query_torch_number(const char *name);

Ref object_of(const at::Tensor &tensor);
bool call_for_truth(const at::Tensor &self, const char *name, Values arguments);
c10::Scalar call_for_scalar(const at::Tensor &self, const char *name, Values arguments);
bool attribute_truth(const at::Tensor &self, const char *name);

/* Learns where a Python tensor keeps the address of its inside; at load. */
void learn_tensors();

} // namespace warpgym
