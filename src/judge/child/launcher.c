#include "judge/child/launcher.h"

#include "base/buf.h"
#include "base/file.h"
#include "problem/dtype.h"

#include <stdio.h>
#include <string.h>

#define KERNELS 64        /* of a cubin, that are looked through by their names */
#define SHARED_FREE 49152 /* bytes of shared memory that a launch need not ask for beforehand */
#define NAMES_BYTES 400

/* Whether `symbol` is how C++ calls a function of that name outside of any namespace. */
static bool is_mangled(const char *symbol, const char *name)
{
    char prefix[LIMIT_NAME_BYTES + 16];
    snprintf(prefix, sizeof prefix, "_Z%zu%s", strlen(name), name);
    return strncmp(symbol, prefix, strlen(prefix)) == 0;
}

static unsigned list_kernels(const struct cuda *cuda, void *module, void *functions[KERNELS])
{
    unsigned count = 0;
    if (!cuda->module_function_count || !cuda->module_functions || !cuda->function_name ||
        cuda->module_function_count(&count, module) != 0)
        return 0;
    count = count < KERNELS ? count : KERNELS;
    return count > 0 && cuda->module_functions(functions, count, module) == 0 ? count : 0;
}

/* By its name as it is (extern "C"), or as the only one that C++ made of it. */
static int find_kernel(const struct launcher *launcher, void *module,
                       const struct launch_call *call, void **function, struct err *err)
{
    const struct cuda *cuda = &launcher->gpu->cuda;
    void *functions[KERNELS];
    struct buf names;
    unsigned matches = 0;
    if (cuda->module_function(function, module, call->kernel) == 0)
        return 0;
    unsigned count = list_kernels(cuda, module, functions);
    buf_init(&names, NAMES_BYTES);
    for (unsigned i = 0; i < count; i++) {
        const char *symbol;
        if (cuda->function_name(&symbol, functions[i]) != 0)
            continue;
        buf_printf(&names, "%s%s", names.len ? ", " : "", symbol);
        if (is_mangled(symbol, call->kernel) &&
            cuda->module_function(function, module, symbol) == 0)
            matches++;
    }
    int result =
        matches == 1
            ? 0
            : err_set(err, ERR_INPUT,
                      "line %u launches `%s`, and %s kernel of that name; there %s: %s; a "
                      "kernel that is static, or a template that is never instantiated, is left "
                      "out, and extern \"C\" makes a name unique",
                      call->line, call->kernel, matches ? "there is more than one" : "there is no",
                      count == 1 ? "is" : "are", names.len ? names.data : "none");
    buf_deinit(&names);
    return result;
}

/* Bytes that a parameter of the signature takes by value. */
static uint32_t parameter_bytes(const struct parameter *parameter)
{
    for (uint32_t i = 0; i < DTYPE_COUNT && !parameter->pointer; i++)
        if (strcmp(dtype_facts(i)->c_name, parameter->type) == 0)
            return (uint32_t)dtype_facts(i)->bytes;
    return sizeof(cuda_at); /* a pointer, or size_t */
}

static uint32_t argument_bytes(const struct launcher *launcher,
                               const struct launch_argument *argument)
{
    if (argument->source == LAUNCH_PARAMETER)
        return parameter_bytes(&launcher->signature.parameters[argument->index]);
    return argument->source == LAUNCH_VALUE ? argument->bytes : sizeof(cuda_at);
}

/* Arguments of the wrong size would give it garbage. An older driver does not know better. */
static int check_parameters(const struct launcher *launcher, const struct launch_call *call,
                            void *function, struct err *err)
{
    const struct cuda *cuda = &launcher->gpu->cuda;
    size_t offset;
    size_t bytes[LAUNCH_ARGUMENTS + 1];
    uint32_t count = 0;
    if (!cuda->function_parameter)
        return 0;
    while (count <= LAUNCH_ARGUMENTS &&
           cuda->function_parameter(function, count, &offset, &bytes[count]) == 0)
        count++;
    if (count != call->argument_count)
        return err_set(err, ERR_INPUT, "line %u: `%s` takes %u parameters, and `args` passes %u",
                       call->line, call->kernel, count, call->argument_count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t passed = argument_bytes(launcher, &call->arguments[i]);
        if (bytes[i] != passed)
            return err_set(
                err, ERR_INPUT,
                "line %u: parameter %u of `%s` has %zu bytes, and what `args` passes has "
                "%u; a size is a size_t, unless it is written as int(rows)",
                call->line, i + 1, call->kernel, bytes[i], passed);
    }
    return 0;
}

static int read_lines(struct launcher *launcher, int lines, struct err *err)
{
    uint32_t line;
    char *text;
    size_t bytes;
    int result = file_read_fd(lines, "the launch lines", LIMIT_SOURCE_BYTES + 2 * LIMIT_YAML_BYTES,
                              &text, &bytes, err);
    if (result < 0)
        return result;
    char *fallback = strchr(text, '\n');
    char *source = fallback ? strchr(fallback + 1, '\n') : NULL;
    if (!source) {
        mem_free(text);
        return err_set(err, ERR_PROTOCOL, "launch lines without a signature");
    }
    *fallback++ = '\0';
    *source++ = '\0';
    result = signature_parse(&launcher->arena, text, &launcher->signature, &line, err);
    if (result == 0)
        result = launch_parse(&launcher->arena, &launcher->signature, source,
                              *fallback ? fallback : NULL, &launcher->launch, &line, err);
    if (result == 0)
        launcher->size_count = launch_sizes(&launcher->signature, launcher->sizes);
    mem_free(text);
    return result;
}

int launcher_open(struct launcher *launcher, const struct gpu_context *gpu, int cubin, int lines,
                  struct err *err)
{
    char *image = NULL;
    size_t bytes;
    void *module;
    launcher->gpu = gpu;
    int result = read_lines(launcher, lines, err);
    if (result == 0)
        result = file_read_fd(cubin, "the compiled kernels",
                              LIMIT_ARTIFACT_BYTES + LIMIT_DIAGNOSTICS_BYTES, &image, &bytes, err);
    if (result == 0)
        result = cuda_check(&gpu->cuda, gpu->cuda.module_load(&module, image),
                            "the driver does not take the compiled kernels", err);
    if (result == ERR_IO) /* what compiled them does not go with it: not the candidate's doing */
        result = err->code = ERR_UNSUPPORTED;
    for (uint32_t i = 0; i < launcher->launch.call_count && result == 0; i++) {
        const struct launch_call *call = &launcher->launch.calls[i];
        result = find_kernel(launcher, module, call, &launcher->functions[i], err);
        if (result == 0)
            result = check_parameters(launcher, call, launcher->functions[i], err);
    }
    mem_free(image);
    return result;
}

/* Scratch buffers grow, and stay. */
static int make_scratches(struct launcher *launcher, struct err *err)
{
    const struct cuda *cuda = &launcher->gpu->cuda;
    for (uint32_t i = 0; i < launcher->launch.scratch_count; i++) {
        char what[LIMIT_NAME_BYTES + 64];
        if (launcher->plan.scratch_bytes[i] <= launcher->scratch_bytes[i])
            continue;
        if (launcher->scratch_bytes[i])
            cuda->free(launcher->scratches[i]);
        launcher->scratch_bytes[i] = 0;
        snprintf(what, sizeof what, "no memory for the scratch buffer `%s`",
                 launcher->launch.scratches[i].name);
        int result = cuda_check(
            cuda, cuda->alloc(&launcher->scratches[i], launcher->plan.scratch_bytes[i]), what, err);
        if (result < 0)
            return result;
        launcher->scratch_bytes[i] = launcher->plan.scratch_bytes[i];
    }
    return 0;
}

/* What the device can do for a block of this kernel. */
static int check_limits(const struct launcher *launcher, uint32_t index, struct err *err)
{
    const struct cuda *cuda = &launcher->gpu->cuda;
    const struct launch_call *call = &launcher->launch.calls[index];
    const struct launch_numbers *numbers = &launcher->plan.calls[index];
    void *function = launcher->functions[index];
    uint32_t threads = numbers->block[0] * numbers->block[1] * numbers->block[2];
    int most;
    if (cuda->function_attribute(&most, CUDA_FUNCTION_THREADS, function) == 0 &&
        threads > (uint32_t)most)
        return err_set(err, ERR_INPUT,
                       "line %u: a block of `%s` can have %d threads, not %u: it needs too many "
                       "registers; __launch_bounds__ limits them",
                       call->line, call->kernel, most, threads);
    if (numbers->shared_bytes <= SHARED_FREE ||
        cuda->set_function_attribute(function, CUDA_FUNCTION_SHARED_DYNAMIC,
                                     (int)numbers->shared_bytes) == 0)
        return 0;
    if (cuda->device_attribute(&most, CUDA_SHARED_BYTES, launcher->gpu->device) != 0)
        most = 0;
    return err_set(err, ERR_INPUT,
                   "line %u: `%s` asks for %u bytes of dynamic shared memory; a block has at most "
                   "%d on this GPU, static ones included",
                   call->line, call->kernel, numbers->shared_bytes, most);
}

static void *find_parameter(struct launcher *launcher, uint32_t slot, uint32_t call,
                            const struct layout *layout, char *memory, uint32_t place)
{
    const struct launch_argument *argument = &launcher->launch.calls[call].arguments[place];
    if (argument->source == LAUNCH_VALUE)
        return &launcher->plan.calls[call].values[place];
    if (argument->source == LAUNCH_SCRATCH)
        return &launcher->scratches[argument->index];
    const struct layout_argument *found = &layout->arguments[argument->index];
    return layout_is_array(found) ? (void *)&launcher->addresses[slot][argument->index]
                                  : memory + found->offset;
}

static int evaluate_launches(struct launcher *launcher, const struct layout *layout,
                             struct err *err)
{
    int64_t sizes[LIMIT_SIZES];
    uint32_t line;
    for (uint32_t i = 0; i < launcher->size_count; i++)
        sizes[i] = (int64_t)layout->arguments[launcher->sizes[i]].value;
    int result = launch_evaluate(&launcher->launch, sizes, &launcher->plan, &line, err);
    return result < 0 ? err_prefix(err, "line %u", line) : 0;
}

int launcher_map(struct launcher *launcher, const struct layout *layout, uint32_t slots, char *slot,
                 cuda_at arrays, struct err *err)
{
    if (layout->count != launcher->signature.count)
        return err_set(err, ERR_PROTOCOL, "a layout of another signature");
    int result = evaluate_launches(launcher, layout, err);
    if (result == 0)
        result = make_scratches(launcher, err);
    for (uint32_t i = 0; i < launcher->launch.call_count && result == 0; i++)
        result = check_limits(launcher, i, err);
    for (uint32_t s = 0; s < slots && result == 0; s++) {
        uint64_t offset = s * layout->bytes;
        for (uint32_t i = 0; i < layout->count; i++)
            launcher->addresses[s][i] = arrays + offset + layout->arguments[i].offset;
        for (uint32_t c = 0; c < launcher->launch.call_count; c++)
            for (uint32_t a = 0; a < launcher->launch.calls[c].argument_count; a++)
                launcher->parameters[s][c][a] = find_parameter(launcher, s, c, layout,
                                                               slot + offset, a);
    }
    return result;
}

int launcher_start(struct launcher *launcher, uint32_t slot, struct err *err)
{
    const struct cuda *cuda = &launcher->gpu->cuda;
    for (uint32_t c = 0; c < launcher->launch.call_count; c++) {
        const struct launch_numbers *plan = &launcher->plan.calls[c];
        cuda_result result = cuda->launch(launcher->functions[c], plan->grid[0], plan->grid[1],
                                          plan->grid[2], plan->block[0], plan->block[1],
                                          plan->block[2], plan->shared_bytes, NULL,
                                          launcher->parameters[slot][c], NULL);
        if (result != 0) {
            char what[LIMIT_NAME_BYTES + 128];
            snprintf(
                what, sizeof what,
                "cannot launch `%s` with grid (%u, %u, %u), block (%u, %u, %u) and %u bytes of "
                "shared memory",
                launcher->launch.calls[c].kernel, plan->grid[0], plan->grid[1], plan->grid[2],
                plan->block[0], plan->block[1], plan->block[2], plan->shared_bytes);
            return cuda_check(cuda, result, what, err);
        }
    }
    return 0;
}
