/* bind: PYBIND11_MODULE and module.def without pybind11.
 *
 * A function's C++ type becomes one small invoker, which converts arguments and result; the rest
 * (modules, overloads, keywords, errors in pybind11's words) is in glue_module.cpp. Kept to
 * functions: classes, Python objects as arguments and the rest of pybind11 are not declared, so
 * that a source which uses them is compiled with the real thing.
 */
#pragma once

#include "tensor.h"

struct _object;

namespace pybind11
{
struct none {
};
} // namespace pybind11

namespace warpgym
{

using Object = _object *;

/* Each gives false for an object of another type and leaves no Python error behind. `convert`:
 * numbers of other types count, too. */
bool load_signed(Object object, bool convert, int64_t least, int64_t most, int64_t *value);
bool load_unsigned(Object object, bool convert, uint64_t most, uint64_t *value);
bool load_real(Object object, bool convert, double *value);
bool load_truth(Object object, bool convert, bool *value);
bool load_text(Object object, const char **bytes, size_t *count);
bool load_tensor(Object object, at::Tensor *tensor);
bool load_dtype(Object object, c10::ScalarType *type);
bool load_scalar(Object object, c10::Scalar *value);
bool load_device(Object object, c10::DeviceType *type, c10::DeviceIndex *index);
bool is_none(Object object);
/* -1: no sequence; else sequence_item gives a reference of the caller's. */
int64_t sequence_length(Object object);
Object sequence_item(Object object, int64_t index);
void release(Object object);

Object make_none();
Object make_signed(int64_t value);
Object make_unsigned(uint64_t value);
Object make_real(double value);
Object make_truth(bool value);
Object make_text(const char *bytes, size_t count);
Object make_tensor(const at::Tensor &tensor);
Object make_dtype(c10::ScalarType type);
Object make_list(int64_t count, bool tuple);
void set_item(Object list, bool tuple, int64_t index, Object item); /* takes the item */
/* None of them gives NULL: failing is an exception. */

/* How T comes from Python, and goes there. */
template <class T, class = void> struct Caster;

template <class T> struct Caster<T, std::enable_if_t<std::is_integral_v<T>>> {
    static constexpr const char *name = "typing.SupportsInt";
    T value{};
    bool load(Object object, bool convert)
    {
        if constexpr (std::is_signed_v<T>) {
            constexpr int64_t most = static_cast<int64_t>((uint64_t(1) << (8 * sizeof(T) - 1)) - 1);
            int64_t whole;
            return load_signed(object, convert, -most - 1, most, &whole) &&
                   (value = static_cast<T>(whole), true);
        } else {
            uint64_t whole;
            return load_unsigned(object, convert, static_cast<T>(-1), &whole) &&
                   (value = static_cast<T>(whole), true);
        }
    }
    static Object make(T value)
    {
        if constexpr (std::is_signed_v<T>)
            return make_signed(value);
        else
            return make_unsigned(value);
    }
};
template <> struct Caster<bool> {
    static constexpr const char *name = "bool";
    bool value = false;
    bool load(Object object, bool convert)
    {
        return load_truth(object, convert, &value);
    }
    static Object make(bool value)
    {
        return make_truth(value);
    }
};
template <class T> struct Caster<T, std::enable_if_t<std::is_floating_point_v<T>>> {
    static constexpr const char *name = "typing.SupportsFloat";
    T value{};
    bool load(Object object, bool convert)
    {
        double real;
        return load_real(object, convert, &real) && (value = static_cast<T>(real), true);
    }
    static Object make(T value)
    {
        return make_real(static_cast<double>(value));
    }
};
template <> struct Caster<at::Tensor> {
    static constexpr const char *name = "torch.Tensor";
    at::Tensor value;
    bool load(Object object, bool)
    {
        return load_tensor(object, &value);
    }
    static Object make(const at::Tensor &value)
    {
        return make_tensor(value);
    }
};
template <> struct Caster<c10::ScalarType> {
    static constexpr const char *name = "torch.dtype";
    c10::ScalarType value{};
    bool load(Object object, bool)
    {
        return load_dtype(object, &value);
    }
    static Object make(c10::ScalarType value)
    {
        return make_dtype(value);
    }
};
template <> struct Caster<c10::Scalar> {
    static constexpr const char *name = "Union[typing.SupportsInt, typing.SupportsFloat]";
    c10::Scalar value;
    bool load(Object object, bool)
    {
        return load_scalar(object, &value);
    }
};
template <> struct Caster<c10::Device> {
    static constexpr const char *name = "torch.device";
    c10::Device value{c10::kCPU};
    bool load(Object object, bool)
    {
        c10::DeviceType type;
        c10::DeviceIndex index;
        return load_device(object, &type, &index) && (value = c10::Device(type, index), true);
    }
};
template <class R, class A> struct Caster<std::basic_string<char, R, A>> {
    static constexpr const char *name = "str";
    std::basic_string<char, R, A> value;
    bool load(Object object, bool)
    {
        const char *bytes;
        size_t count;
        return load_text(object, &bytes, &count) && (value.assign(bytes, count), true);
    }
    static Object make(const std::basic_string<char, R, A> &value)
    {
        return make_text(value.data(), value.size());
    }
};
template <> struct Caster<const char *> {
    static constexpr const char *name = "str";
    const char *value = nullptr;
    bool load(Object object, bool)
    {
        size_t count;
        return is_none(object) || load_text(object, &value, &count);
    }
    static Object make(const char *value)
    {
        return value ? make_text(value, __builtin_strlen(value)) : make_none();
    }
};
template <class T>
struct Caster<
    T, std::enable_if_t<std::is_same_v<T, pybind11::none> || std::is_same_v<T, std::nullopt_t>>> {
    static Object make(T)
    {
        return make_none();
    }
};
template <class T> struct Caster<std::optional<T>> {
    static constexpr const char *name = Caster<T>::name;
    std::optional<T> value;
    bool load(Object object, bool convert)
    {
        Caster<T> inner;
        if (is_none(object))
            return true;
        return inner.load(object, convert) && (value = std::move(inner.value), true);
    }
    static Object make(const std::optional<T> &value)
    {
        return value ? Caster<T>::make(*value) : make_none();
    }
};
template <class T, class A> struct Caster<std::vector<T, A>> {
    static constexpr const char *name = "collections.abc.Sequence";
    std::vector<T, A> value;
    bool load(Object object, bool convert)
    {
        int64_t count = sequence_length(object);
        for (int64_t i = 0; i < count; i++) {
            Caster<T> item;
            Object each = sequence_item(object, i);
            bool loaded = item.load(each, convert);
            release(each);
            if (!loaded)
                return false;
            value.push_back(std::move(item.value));
        }
        return count >= 0;
    }
    static Object make(const std::vector<T, A> &value)
    {
        Object list = make_list(static_cast<int64_t>(value.size()), false);
        for (size_t i = 0; i < value.size(); i++)
            set_item(list, false, static_cast<int64_t>(i), Caster<T>::make(value[i]));
        return list;
    }
};
/* A view of a list that lives as long as the call. */
template <class T> struct Caster<c10::ArrayRef<T>> {
    static constexpr const char *name = "collections.abc.Sequence";
    Caster<std::vector<T>> list;
    c10::ArrayRef<T> value;
    bool load(Object object, bool convert)
    {
        return list.load(object, convert) && (value = list.value, true);
    }
    static Object make(c10::ArrayRef<T> value)
    {
        return Caster<std::vector<T>>::make(value.vec());
    }
};
template <class... T> struct TupleCaster {
    static constexpr const char *name = "tuple";
    template <class V, size_t... I> static Object put(const V &value, std::index_sequence<I...>)
    {
        Object tuple = make_list(sizeof...(T), true);
        (set_item(tuple, true, I, Caster<std::decay_t<T>>::make(std::get<I>(value))), ...);
        return tuple;
    }
    template <class V> static Object make(const V &value)
    {
        return put(value, std::index_sequence_for<T...>());
    }
};
template <class... T> struct Caster<std::tuple<T...>> : TupleCaster<T...> {
};
template <class A, class B> struct Caster<std::pair<A, B>> : TupleCaster<A, B> {
};

template <class T> using CasterOf = Caster<std::remove_cv_t<std::remove_reference_t<T>>>;

/* A parameter's name and, where there is one, what it is when it is not given. */
struct Parameter {
    const char *name = nullptr;
    const char *type = nullptr;
    Object otherwise = nullptr;
    bool none = true;
};

/* A function as the module keeps it. `call` gives NULL where an argument does not fit. */
struct Function {
    const char *name, *help;
    void *target;
    Object (*call)(void *target, const Object *arguments, bool convert);
    const char *result;
    size_t count;
    Parameter *parameters;
    Function *next; /* overload of the same name */
};

/* Takes what it is given; it is never freed, as modules are not. */
void define(Object module, const Function &function, const Parameter *named, size_t named_count);
Object start_module(const char *name, void (*fill)(Object module));
void set_help(Object module, const char *text);
void set_attribute(Object module, const char *name, Object value);

template <class F, class R, class... A> struct Invoker {
    template <size_t... I>
    static Object run(void *target, const Object *arguments, bool convert,
                      std::index_sequence<I...>)
    {
        std::tuple<CasterOf<A>...> casters;
        (void)arguments;
        (void)convert;
        if (!(std::get<I>(casters).load(arguments[I], convert) && ...))
            return nullptr;
        F &function = *static_cast<F *>(target);
        if constexpr (std::is_void_v<R>) {
            function(static_cast<A>(static_cast<A &&>(std::get<I>(casters).value))...);
            return make_none();
        } else {
            return CasterOf<R>::make(
                function(static_cast<A>(static_cast<A &&>(std::get<I>(casters).value))...));
        }
    }
    static Object call(void *target, const Object *arguments, bool convert)
    {
        return run(target, arguments, convert, std::index_sequence_for<A...>());
    }
    static const char *result()
    {
        if constexpr (std::is_void_v<R>)
            return "None";
        else
            return CasterOf<R>::name;
    }
    static void fill(Function *made)
    {
        static const char *const types[] = {CasterOf<A>::name..., nullptr};
        made->call = call;
        made->result = result();
        made->count = sizeof...(A);
        made->parameters = new Parameter[sizeof...(A) + 1];
        for (size_t i = 0; i < sizeof...(A); i++)
            made->parameters[i].type = types[i];
    }
};

/* What kind of callable F is: a pointer to a function, or a class with one operator(). */
template <class F> struct Callable : Callable<decltype(&F::operator())> {
};
template <class R, class... A> struct Callable<R (*)(A...)> {
    template <class F> using invoker = Invoker<F, R, A...>;
};
template <class C, class R, class... A> struct Callable<R (C::*)(A...) const> {
    template <class F> using invoker = Invoker<F, R, A...>;
};
template <class C, class R, class... A> struct Callable<R (C::*)(A...)> {
    template <class F> using invoker = Invoker<F, R, A...>;
};

} // namespace warpgym

namespace pybind11
{

struct arg_v : warpgym::Parameter {
};
struct arg : warpgym::Parameter {
    explicit arg(const char *its)
    {
        name = its;
    }
    template <class T> arg_v operator=(const T &value) const
    {
        arg_v given;
        given.name = name;
        given.otherwise = warpgym::Caster<std::decay_t<const T &>>::make(value);
        return given;
    }
    arg &noconvert(bool = true)
    {
        return *this;
    }
};
struct gil_scoped_release {
    gil_scoped_release();
    ~gil_scoped_release();
    gil_scoped_release(const gil_scoped_release &) = delete;

  private:
    void *state_;
};
template <class T> struct call_guard {
    static_assert(std::is_same_v<T, gil_scoped_release>);
};

class module_
{
    warpgym::Object object_;
    struct Extras {
        const char *help = nullptr;
        warpgym::Parameter named[64];
        size_t count = 0;
        void add(const char *text)
        {
            help = text;
        }
        void add(const warpgym::Parameter &parameter)
        {
            if (count < 64)
                named[count++] = parameter;
        }
        void add(call_guard<gil_scoped_release>)
        {
        } /* others wait a little longer for it */
    };
    struct Help {
        warpgym::Object module;
        void operator=(const char *text)
        {
            warpgym::set_help(module, text);
        }
    };
    struct Attribute {
        warpgym::Object module;
        const char *name;
        template <class T> void operator=(const T &value)
        {
            warpgym::set_attribute(module, name,
                                   warpgym::Caster<std::decay_t<const T &>>::make(value));
        }
    };

  public:
    explicit module_(warpgym::Object object) : object_(object)
    {
    }
    template <class F, class... E> module_ &def(const char *name, F &&function, const E &...extra)
    {
        using Kept = std::decay_t<F>;
        Extras extras;
        warpgym::Function made{};
        (extras.add(extra), ...);
        made.name = name;
        made.help = extras.help;
        made.target = new Kept(static_cast<F &&>(function));
        warpgym::Callable<Kept>::template invoker<Kept>::fill(&made);
        warpgym::define(object_, made, extras.named, extras.count);
        return *this;
    }
    Help doc()
    {
        return {object_};
    }
    Attribute attr(const char *name)
    {
        return {object_, name};
    }
};
using module = module_;

inline namespace literals
{
inline arg operator""_a(const char *name, size_t)
{
    return arg(name);
}
} // namespace literals

} // namespace pybind11

namespace py = pybind11;

#define WARPGYM_JOIN_(A, B) A##B
#define WARPGYM_JOIN(A, B) WARPGYM_JOIN_(A, B)
#define WARPGYM_QUOTE_(A) #A
#define WARPGYM_QUOTE(A) WARPGYM_QUOTE_(A)
#define PYBIND11_MODULE(NAME, VARIABLE, ...)                                                       \
    static void WARPGYM_JOIN(warpgym_fill_, NAME)(::pybind11::module_ & VARIABLE);                 \
    extern "C" __attribute__((visibility("default"))) ::warpgym::Object WARPGYM_JOIN(PyInit_,      \
                                                                                     NAME)()       \
    {                                                                                              \
        return ::warpgym::start_module(WARPGYM_QUOTE(NAME), [](::warpgym::Object object) {         \
            ::pybind11::module_ module(object);                                                    \
            WARPGYM_JOIN(warpgym_fill_, NAME)(module);                                             \
        });                                                                                        \
    }                                                                                              \
    static void WARPGYM_JOIN(warpgym_fill_, NAME)(::pybind11::module_ & VARIABLE)
