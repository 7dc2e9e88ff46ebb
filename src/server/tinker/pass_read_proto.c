#include "server/tinker/pass_arrays.h"

#include "base/limits.h"
#include "base/protobuf.h"
#include "policy/tinker_fields.h"
#include "policy/tinker_wire.h"

#include <endian.h>
#include <inttypes.h>
#include <string.h>

#define NAME_BYTES 128
#define DIMENSIONS_MAX 4

/* A copy in the arena. */
static int read_name(const struct protobuf_reader *bytes, struct arena *arena, const char **name,
                     struct err *err)
{
    const size_t count = protobuf_left(bytes);
    if (count == 0 || count > NAME_BYTES || memchr(bytes->at, '\0', count))
        return err_set(err, ERR_PROTOCOL, "a name has %zu bytes, not 1 to %d", count, NAME_BYTES);
    *name = arena_strndup(arena, (const char *)bytes->at, count);
    return 0;
}

static uint64_t bits_at(const struct protobuf_reader *bytes, size_t index, size_t size)
{
    uint64_t wide = 0;
    memcpy(&wide, bytes->at + index * size, size);
    return le64toh(wide);
}

static int64_t id_at(const struct protobuf_reader *bytes, size_t index, size_t size)
{
    const uint64_t bits = bits_at(bytes, index, size);
    return size == 4 ? (int32_t)(uint32_t)bits : (int64_t)bits;
}

static float float_at(const struct protobuf_reader *bytes, size_t index)
{
    const uint32_t bits = (uint32_t)bits_at(bytes, index, 4);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

struct tensor {
    struct protobuf_reader dense, values, rows, columns;
    bool sparse;
    uint64_t type;
    int64_t shape[DIMENSIONS_MAX];
    size_t dimensions;
};

static int read_sparse(struct protobuf_reader message, struct tensor *tensor, struct err *err)
{
    struct protobuf_field field;
    int more;
    tensor->sparse = true;
    while ((more = protobuf_next(&message, &field, err)) > 0) {
        if (field.number == SPARSE_VALUES)
            tensor->values = field.bytes;
        else if (field.number == SPARSE_ROWS)
            tensor->rows = field.bytes;
        else if (field.number == SPARSE_COLUMNS)
            tensor->columns = field.bytes;
    }
    return more;
}

static int add_dimension(struct tensor *tensor, int64_t size, struct err *err)
{
    if (tensor->dimensions == DIMENSIONS_MAX)
        return err_set(err, ERR_INPUT, "a tensor of more than %d dimensions", DIMENSIONS_MAX);
    tensor->shape[tensor->dimensions++] = size;
    return 0;
}

/* Packed, or one by one. */
static int read_shape(const struct protobuf_field *field, struct tensor *tensor, struct err *err)
{
    if (field->wire == PROTOBUF_VARINT)
        return add_dimension(tensor, (int64_t)field->value, err);
    const unsigned char *at = field->bytes.at;
    uint64_t value = 0;
    int result = 0;
    for (unsigned shift = 0; at < field->bytes.end && result == 0; at++) {
        value |= shift < 64 ? (uint64_t)(*at & 127) << shift : 0;
        shift = *at & 128 ? shift + 7 : 0;
        if (shift == 0) {
            result = add_dimension(tensor, (int64_t)value, err);
            value = 0;
        }
    }
    return result;
}

static int read_tensor(struct protobuf_reader message, struct tensor *tensor, struct err *err)
{
    struct protobuf_field field;
    int more;
    *tensor = (struct tensor){0};
    while ((more = protobuf_next(&message, &field, err)) > 0) {
        if (field.number == TENSOR_DENSE)
            tensor->dense = field.bytes;
        else if (field.number == TENSOR_SPARSE)
            more = read_sparse(field.bytes, tensor, err);
        else if (field.number == TENSOR_TYPE)
            tensor->type = field.value;
        else if (field.number == TENSOR_SHAPE)
            more = read_shape(&field, tensor, err);
        if (more < 0)
            return more;
    }
    return more;
}

/* The bytes of a number of this array; 0: its type does not fit. */
static size_t size_of(const struct tensor *tensor, bool ids)
{
    if (!ids)
        return tensor->type == TYPE_FLOAT32 ? 4 : 0;
    return tensor->type == TYPE_INT64 ? 8 : tensor->type == TYPE_INT32 ? 4 : 0;
}

static int take_number(const struct protobuf_reader *from, size_t index, size_t size, bool ids,
                       void *to, size_t at, struct err *err)
{
    if (!ids) {
        ((float *)to)[at] = float_at(from, index);
        return 0;
    }
    const int64_t id = id_at(from, index, size);
    if (id < 0 || id >= LIMIT_LM_VOCAB)
        return err_set(err, ERR_INPUT, "number %zu is %" PRId64 ", which is no token", index, id);
    ((int32_t *)to)[at] = (int32_t)id;
    return 0;
}

/* Row i has the numbers rows[i] up to rows[i + 1]. */
static int spread_sparse(const struct tensor *tensor, size_t size, bool ids, void *to,
                         struct err *err)
{
    const size_t rows = (size_t)tensor->shape[0], columns = (size_t)tensor->shape[1];
    const size_t count = protobuf_left(&tensor->values) / size;
    int result = 0;
    for (size_t row = 0; row < rows && result == 0; row++) {
        const uint64_t from = bits_at(&tensor->rows, row, 8),
                       end = bits_at(&tensor->rows, row + 1, 8);
        if (from > end || end > count)
            return err_set(err, ERR_PROTOCOL, "row %zu of a sparse tensor is malformed", row);
        for (uint64_t i = from; i < end && result == 0; i++) {
            const uint64_t column = bits_at(&tensor->columns, i, 8);
            if (column >= columns)
                return err_set(err, ERR_PROTOCOL, "row %zu of a sparse tensor is malformed", row);
            result = take_number(&tensor->values, i, size, ids, to, row * columns + column, err);
        }
    }
    return result;
}

static int check_sparse(const struct tensor *tensor, size_t size, struct err *err)
{
    const size_t values = protobuf_left(&tensor->values);
    const bool fits = tensor->dimensions == 2 && tensor->shape[0] >= 0 &&
                      tensor->shape[0] <= LIMIT_LM_POSITIONS && tensor->shape[1] >= 1 &&
                      tensor->shape[1] <= LIMIT_LM_TARGETS && values % size == 0 &&
                      protobuf_left(&tensor->columns) == values / size * 8 &&
                      protobuf_left(&tensor->rows) == ((size_t)tensor->shape[0] + 1) * 8;
    return fits ? 0 : err_set(err, ERR_PROTOCOL, "a sparse tensor whose parts do not fit together");
}

static int take_numbers(struct tinker_pass *pass, const struct tensor *tensor, bool ids,
                        struct tinker_array *array, struct err *err)
{
    const size_t size = size_of(tensor, ids), bytes = protobuf_left(&tensor->dense);
    int result = 0;
    if (size == 0 || bytes % size != 0)
        return err_set(err, ERR_INPUT, "it is no array of %s", ids ? "int64" : "float32");
    if (tensor->sparse)
        result = check_sparse(tensor, size, err);
    if (result < 0)
        return result;
    array->count = tensor->sparse ? (size_t)(tensor->shape[0] * tensor->shape[1]) : bytes / size;
    void *numbers = tinker_pass_numbers(pass, array->count, err);
    if (!numbers)
        return ERR_LIMIT;
    if (tensor->sparse)
        result = spread_sparse(tensor, size, ids, numbers, err);
    for (size_t i = 0; !tensor->sparse && i < array->count && result == 0; i++)
        result = take_number(&tensor->dense, i, size, ids, numbers, i, err);
    array->floats = ids ? NULL : numbers;
    array->ids = ids ? numbers : NULL;
    return result;
}

static int read_array(struct tinker_pass *pass, struct protobuf_reader entry,
                      struct tinker_array *array, struct err *err)
{
    struct protobuf_field field;
    struct protobuf_reader key = {0}, value = {0};
    struct tensor tensor;
    int result;
    while ((result = protobuf_next(&entry, &field, err)) > 0) {
        if (field.number == ENTRY_KEY)
            key = field.bytes;
        else if (field.number == ENTRY_VALUE)
            value = field.bytes;
    }
    if (result == 0)
        result = read_name(&key, &pass->arena, &array->name, err);
    if (result < 0)
        return result;
    const bool *ids = tinker_array_holds_ids(array->name);
    if (!ids)
        return tinker_array_unknown(array->name, err);
    result = read_tensor(value, &tensor, err);
    if (result == 0)
        result = take_numbers(pass, &tensor, *ids, array, err);
    if (result < 0)
        return err_prefix(err, "'%s'", array->name);
    return tinker_array_shape(array, tensor.shape, tensor.dimensions, err);
}

/* The one of a Chunk that is text. */
static int read_chunk(struct protobuf_reader chunk, struct protobuf_reader *tokens, struct err *err)
{
    struct protobuf_field field, inner;
    int more;
    *tokens = (struct protobuf_reader){0};
    while ((more = protobuf_next(&chunk, &field, err)) > 0) {
        if (field.number != CHUNK_TEXT)
            return err_set(err, ERR_UNSUPPORTED,
                           "the model reads text alone: its input has a chunk of another kind");
        while ((more = protobuf_next(&field.bytes, &inner, err)) > 0)
            if (inner.number == TEXT_TOKENS)
                *tokens = inner.bytes;
        if (more < 0)
            return more;
    }
    if (more == 0 && protobuf_left(tokens) % 4 != 0)
        return err_set(err, ERR_PROTOCOL, "a chunk of text has half a token");
    return more;
}

static int read_tokens(struct protobuf_reader datum, struct arena *arena, int32_t **tokens,
                       size_t *count, struct err *err)
{
    const size_t most = protobuf_left(&datum) / 4;
    struct protobuf_field field;
    struct protobuf_reader text;
    int more;
    *tokens = arena_alloc(arena, (most + 1) * sizeof **tokens);
    *count = 0;
    while ((more = protobuf_next(&datum, &field, err)) > 0) {
        if (field.number != DATUM_INPUT)
            continue;
        more = read_chunk(field.bytes, &text, err);
        for (size_t i = 0; more == 0 && i < protobuf_left(&text) / 4; i++)
            more = take_number(&text, i, 4, true, *tokens, (*count)++, err);
        if (more < 0)
            return more;
    }
    return more;
}

static int read_datum(struct tinker_pass *pass, struct protobuf_reader datum, struct err *err)
{
    struct tinker_array arrays[TINKER_ARRAYS_MAX] = {0};
    struct protobuf_reader left = datum;
    struct protobuf_field field;
    size_t array_count = 0, count = 0;
    int32_t *tokens = NULL;
    int more = read_tokens(datum, &pass->arena, &tokens, &count, err);
    while (more == 0 && (more = protobuf_next(&left, &field, err)) > 0) {
        if (field.number != DATUM_ARRAYS) {
            more = 0;
            continue;
        }
        more = array_count == TINKER_ARRAYS_MAX
                   ? err_set(err, ERR_INPUT, "it has more than %d arrays", TINKER_ARRAYS_MAX)
                   : read_array(pass, field.bytes, &arrays[array_count++], err);
        if (more == 0)
            continue;
        break;
    }
    return more < 0 ? more : tinker_pass_add(pass, tokens, count, arrays, array_count, err);
}

static int read_option(struct tinker_pass *pass, const struct protobuf_field *option,
                       struct err *err)
{
    const bool typed = option->number == REQUEST_CONFIG_2;
    struct protobuf_reader entry = option->bytes, key = {0};
    struct protobuf_field field, value = {0};
    const char *name = "";
    double number = 0;
    int more;
    while ((more = protobuf_next(&entry, &field, err)) > 0) {
        if (field.number == ENTRY_KEY)
            key = field.bytes;
        else if (field.number == ENTRY_VALUE)
            value = field;
    }
    if (more == 0)
        more = read_name(&key, &pass->arena, &name, err);
    if (more < 0)
        return more;
    if (typed) {
        struct protobuf_reader inner = value.bytes;
        value = (struct protobuf_field){0};
        while ((more = protobuf_next(&inner, &field, err)) > 0) {
            if (field.number == CONFIG_TEXT)
                return err_set(err, ERR_INPUT, "the option '%s' of a loss is a text", name);
            value = field;
        }
    }
    memcpy(&number, &value.value, sizeof number);
    return more < 0 ? more : tinker_option_read(pass->loss, &pass->config, name, number, err);
}

/* All but data and options, which need the loss. */
static int read_frame(struct tinker_pass *pass, struct protobuf_reader message, size_t *datums,
                      struct err *err)
{
    struct protobuf_field field;
    const char *loss = NULL;
    int more;
    while ((more = protobuf_next(&message, &field, err)) > 0) {
        if (field.number == REQUEST_MODEL)
            more = read_name(&field.bytes, &pass->arena, &pass->model, err);
        else if (field.number == REQUEST_NUMBER)
            pass->number = (int32_t)(uint32_t)field.value;
        else if (field.number == REQUEST_LOSS)
            more = read_name(&field.bytes, &pass->arena, &loss, err);
        else if (field.number == REQUEST_FORWARD_ONLY)
            pass->forward = field.value != 0;
        *datums += field.number == REQUEST_DATA;
        if (more < 0)
            return more;
    }
    return more < 0 ? more : tinker_loss_read(loss, &pass->loss, err);
}

int tinker_pass_read_proto(struct tinker_pass *pass, const void *bytes, size_t count,
                           struct err *err)
{
    struct protobuf_reader message = protobuf_reader(bytes, count);
    struct protobuf_field field;
    size_t datums = 0;
    *pass = (struct tinker_pass){.number = -1, .config = loss_config_defaults};
    int more = read_frame(pass, message, &datums, err);
    if (more < 0)
        return more;
    pass->datums = arena_alloc(&pass->arena, (datums + 1) * sizeof *pass->datums);
    pass->columns = arena_alloc(&pass->arena, (datums + 1) * sizeof *pass->columns);
    while ((more = protobuf_next(&message, &field, err)) > 0) {
        if (field.number == REQUEST_CONFIG || field.number == REQUEST_CONFIG_2)
            more = read_option(pass, &field, err);
        else if (field.number == REQUEST_DATA && (more = read_datum(pass, field.bytes, err)) < 0)
            err_prefix(err, "datum %zu", pass->count);
        if (more < 0)
            return more;
    }
    return more < 0 ? more : loss_config_check(pass->loss, &pass->config, err);
}

void tinker_pass_deinit(struct tinker_pass *pass)
{
    arena_deinit(&pass->arena);
    *pass = (struct tinker_pass){0};
}
