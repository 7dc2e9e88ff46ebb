#include "server/tinker/pass_arrays.h"

#include "base/limits.h"
#include "policy/tinker_wire.h"

#include <string.h>

#define DIMENSIONS_MAX 4

static int take_ids(const json_t *list, const char *what, int32_t *to, struct err *err)
{
    const json_t *value;
    size_t i;
    json_array_foreach((json_t *)list, i, value)
    {
        const json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
        if (id < 0 || id >= LIMIT_LM_VOCAB)
            return err_set(err, ERR_INPUT, "%s: item %zu is no token", what, i);
        to[i] = (int32_t)id;
    }
    return 0;
}

static int take_floats(const json_t *list, const char *what, float *to, struct err *err)
{
    const json_t *value;
    size_t i;
    json_array_foreach((json_t *)list, i, value)
    {
        if (!json_is_number(value))
            return err_set(err, ERR_INPUT, "%s: item %zu is no number", what, i);
        to[i] = (float)json_number_value(value);
    }
    return 0;
}

int tinker_tokens_read_json(const json_t *input, struct arena *arena, int32_t **tokens,
                            size_t *count, struct err *err)
{
    const json_t *chunks = json_object_get(input, "chunks"), *chunk;
    size_t i, all = 0;
    int result = 0;
    *count = 0;
    if (!json_is_array(chunks))
        return err_set(err, ERR_INPUT, "the input has no list 'chunks'");
    json_array_foreach((json_t *)chunks, i, chunk)
    {
        const char *type = json_text_at(chunk, "type");
        const json_t *list = json_object_get(chunk, "tokens");
        if ((type[0] && strcmp(type, "encoded_text") != 0) || !json_is_array(list))
            return err_set(err, ERR_UNSUPPORTED,
                           "the model reads text alone: chunk %zu of its input is of another kind",
                           i);
        all += json_array_size(list);
    }
    *tokens = arena_alloc(arena, (all + 1) * sizeof **tokens);
    json_array_foreach((json_t *)chunks, i, chunk)
    {
        const json_t *list = json_object_get(chunk, "tokens");
        if (result == 0)
            result = take_ids(list, "tokens of the input", *tokens + *count, err);
        *count += json_array_size(list);
    }
    return result;
}

static int read_shape(const json_t *list, struct tinker_array *array, struct err *err)
{
    int64_t shape[DIMENSIONS_MAX];
    const size_t count = json_array_size(list);
    if (count > DIMENSIONS_MAX)
        return err_set(err, ERR_INPUT, "it has more than %d dimensions", DIMENSIONS_MAX);
    for (size_t i = 0; i < count; i++)
        shape[i] = json_integer_value(json_array_get(list, i));
    return tinker_array_shape(array, shape, count, err);
}

/* Numbers of a tensor whose layout is CSR, in their columns_at; the others are 0. */
static int spread_sparse(const json_t *tensor, size_t columns, size_t size, const void *numbers,
                         void *to, struct err *err)
{
    const json_t *rows = json_object_get(tensor, "sparse_crow_indices");
    const json_t *columns_at = json_object_get(tensor, "sparse_col_indices");
    const json_int_t count = (json_int_t)json_array_size(json_object_get(tensor, "data"));
    for (size_t row = 0; row + 1 < json_array_size(rows); row++) {
        const json_int_t from = json_integer_value(json_array_get(rows, row));
        const json_int_t end = json_integer_value(json_array_get(rows, row + 1));
        for (json_int_t i = from; i < end; i++) {
            const json_int_t column = json_integer_value(json_array_get(columns_at, (size_t)i));
            if (from < 0 || end > count || column < 0 || (size_t)column >= columns)
                return err_set(err, ERR_INPUT, "row %zu of a sparse tensor is malformed", row);
            memcpy((char *)to + (row * columns + (size_t)column) * size,
                   (const char *)numbers + (size_t)i * size, size);
        }
    }
    return 0;
}

static int make_dense(struct tinker_pass *pass, const json_t *tensor, struct tinker_array *array,
                      void **numbers, struct err *err)
{
    const json_t *shape = json_object_get(tensor, "shape");
    const json_int_t rows = json_integer_value(json_array_get(shape, 0));
    const json_int_t columns = json_integer_value(json_array_get(shape, 1));
    const size_t crow = json_array_size(json_object_get(tensor, "sparse_crow_indices"));
    if (json_array_size(shape) != 2 || rows < 0 || rows > LIMIT_LM_POSITIONS || columns < 1 ||
        columns > LIMIT_LM_TARGETS || crow != (size_t)rows + 1 ||
        json_array_size(json_object_get(tensor, "sparse_col_indices")) != array->count)
        return err_set(err, ERR_INPUT, "a sparse tensor whose parts do not fit together");
    array->count = (size_t)(rows * columns);
    void *dense = tinker_pass_numbers(pass, array->count, err);
    if (!dense)
        return ERR_LIMIT;
    int result = spread_sparse(tensor, (size_t)columns, 4, *numbers, dense, err);
    *numbers = dense;
    return result;
}

static int read_array(struct tinker_pass *pass, const char *name, const json_t *tensor,
                      struct tinker_array *array, struct err *err)
{
    const bool *ids = tinker_array_holds_ids(name);
    const json_t *data = json_object_get(tensor, "data");
    if (!ids)
        return tinker_array_unknown(name, err);
    if (!json_is_array(data))
        return err_set(err, ERR_INPUT, "'%s' has no list 'data'", name);
    *array = (struct tinker_array){.name = name, .count = json_array_size(data)};
    void *numbers = tinker_pass_numbers(pass, array->count, err);
    if (!numbers)
        return ERR_LIMIT;
    int result = *ids ? take_ids(data, "it", numbers, err) : take_floats(data, "it", numbers, err);
    if (result == 0 && json_is_array(json_object_get(tensor, "sparse_crow_indices")))
        result = make_dense(pass, tensor, array, &numbers, err);
    array->floats = *ids ? NULL : numbers;
    array->ids = *ids ? numbers : NULL;
    if (result == 0)
        result = read_shape(json_object_get(tensor, "shape"), array, err);
    return result < 0 ? err_prefix(err, "'%s'", name) : 0;
}

static int read_datum(struct tinker_pass *pass, const json_t *datum, struct err *err)
{
    struct tinker_array arrays[TINKER_ARRAYS_MAX];
    const json_t *inputs = json_object_get(datum, "loss_fn_inputs"), *tensor;
    const char *name;
    int32_t *tokens = NULL;
    size_t count = 0, array_count = 0;
    int result = tinker_tokens_read_json(json_object_get(datum, "model_input"), &pass->arena,
                                         &tokens, &count, err);
    if (result == 0 && json_object_size(inputs) > TINKER_ARRAYS_MAX)
        result = err_set(err, ERR_INPUT, "it has more than %d arrays", TINKER_ARRAYS_MAX);
    if (result < 0)
        return result;
    json_object_foreach((json_t *)inputs, name, tensor)
    {
        result = read_array(pass, name, tensor, &arrays[array_count++], err);
        if (result < 0)
            return result;
    }
    return tinker_pass_add(pass, tokens, count, arrays, array_count, err);
}

static int read_options(struct tinker_pass *pass, const json_t *config, struct err *err)
{
    const char *name;
    const json_t *value;
    json_object_foreach((json_t *)config, name, value)
    {
        if (!json_is_number(value))
            return err_set(err, ERR_INPUT, "the option '%.60s' of a loss is no number", name);
        int result = tinker_option_read(pass->loss, &pass->config, name, json_number_value(value),
                                        err);
        if (result < 0)
            return result;
    }
    return loss_config_check(pass->loss, &pass->config, err);
}

int tinker_pass_read_json(struct tinker_pass *pass, const json_t *body, const char *input,
                          struct err *err)
{
    const json_t *number = json_object_get(body, "seq_id");
    const json_t *inner = json_object_get(body, input);
    const json_t *data = json_object_get(inner, "data"), *datum;
    size_t i;
    *pass = (struct tinker_pass){.number = json_is_integer(number) ? json_integer_value(number)
                                                                   : -1,
                                 .config = loss_config_defaults};
    const char *model = json_text_at(body, "model_id");
    pass->model = model[0] ? arena_strdup(&pass->arena, model) : NULL;
    int result = tinker_loss_read(json_text_at(inner, "loss_fn"), &pass->loss, err);
    if (result == 0 && !json_is_array(data))
        result = err_set(err, ERR_INPUT, "'%s' has no list 'data'", input);
    if (result == 0)
        result = read_options(pass, json_object_get(inner, "loss_fn_config"), err);
    if (result < 0)
        return result;
    pass->datums = arena_alloc(&pass->arena, (json_array_size(data) + 1) * sizeof *pass->datums);
    pass->columns = arena_alloc(&pass->arena, (json_array_size(data) + 1) * sizeof *pass->columns);
    json_array_foreach((json_t *)data, i, datum)
    {
        result = read_datum(pass, datum, err);
        if (result < 0)
            return err_prefix(err, "datum %zu", i);
    }
    return 0;
}
