#include "policy/tinker_proto.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/protobuf.h"
#include "policy/tinker_fields.h"

#include <endian.h>
#include <math.h>
#include <string.h>

#define NO_LOGPROB (-9999.0) /* at or below: an empty cell of the most probable */
#define NAME_BYTES 200       /* of a metric that is read */

static void put_floats(struct buf *body, const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const float value = isfinite(values[i]) ? values[i] : 0;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        bits = htole32(bits);
        buf_append(body, &bits, sizeof bits);
    }
}

static void put_wide_ids(struct buf *body, const int32_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t bits = htole64((uint64_t)(int64_t)ids[i]);
        buf_append(body, &bits, sizeof bits);
    }
}

/* An entry of loss_fn_inputs; the caller appends its numbers between the two. */
struct array_marks {
    size_t entry, tensor, dense;
};

static struct array_marks open_array(struct buf *body, const char *name)
{
    struct array_marks marks;
    marks.entry = protobuf_open(body, DATUM_ARRAYS);
    protobuf_string(body, ENTRY_KEY, name);
    marks.tensor = protobuf_open(body, ENTRY_VALUE);
    marks.dense = protobuf_open(body, TENSOR_DENSE);
    return marks;
}

static void close_array(struct buf *body, const struct array_marks *marks, uint64_t type,
                        size_t count)
{
    protobuf_close(body, marks->dense);
    protobuf_varint(body, TENSOR_TYPE, type);
    protobuf_varint(body, TENSOR_SHAPE, count);
    protobuf_close(body, marks->tensor);
    protobuf_close(body, marks->entry);
}

static void put_float_array(struct buf *body, const char *name, const float *values, size_t count)
{
    const struct array_marks marks = open_array(body, name);
    put_floats(body, values, count);
    close_array(body, &marks, TYPE_FLOAT32, count);
}

static void put_id_array(struct buf *body, const char *name, const int32_t *ids, size_t count)
{
    const struct array_marks marks = open_array(body, name);
    put_wide_ids(body, ids, count);
    close_array(body, &marks, TYPE_INT64, count);
}

static void put_datum(struct buf *body, const struct loss *loss, const struct lm_datum *datum)
{
    const size_t mark = protobuf_open(body, REQUEST_DATA);
    const size_t chunk = protobuf_open(body, DATUM_INPUT);
    const size_t text = protobuf_open(body, CHUNK_TEXT);
    const size_t tokens = protobuf_open(body, TEXT_TOKENS);
    protobuf_put_sfixed32(body, datum->tokens, datum->count);
    protobuf_close(body, tokens);
    protobuf_close(body, text);
    protobuf_close(body, chunk);
    put_id_array(body, "target_tokens", datum->targets, datum->count);
    if (loss->ratio) {
        put_float_array(body, "logprobs", datum->sampled, datum->count);
        put_float_array(body, "advantages", datum->advantages, datum->count);
    } else {
        float *ones;
        put_float_array(body, "weights", tinker_weights(datum, &ones), datum->count);
        mem_free(ones);
    }
    protobuf_close(body, mark);
}

/* In both maps of the request: servers before 0.38 read the first, later ones the second. */
static void put_option(struct buf *body, const char *name, double value)
{
    size_t entry = protobuf_open(body, REQUEST_CONFIG);
    protobuf_string(body, ENTRY_KEY, name);
    protobuf_double(body, ENTRY_VALUE, value);
    protobuf_close(body, entry);
    entry = protobuf_open(body, REQUEST_CONFIG_2);
    protobuf_string(body, ENTRY_KEY, name);
    const size_t number = protobuf_open(body, ENTRY_VALUE);
    protobuf_double(body, CONFIG_NUMBER, value);
    protobuf_close(body, number);
    protobuf_close(body, entry);
}

void tinker_proto_put_pass(struct buf *body, const char *model, uint64_t number, bool gradients,
                           const struct tinker_wire_pass *pass)
{
    struct tinker_option options[TINKER_OPTIONS];
    const size_t count = tinker_options(pass->loss, pass->config, options);
    protobuf_string(body, REQUEST_MODEL, model);
    protobuf_varint(body, REQUEST_NUMBER, number);
    for (size_t i = 0; i < pass->count; i++)
        put_datum(body, pass->loss, &pass->datums[i]);
    protobuf_string(body, REQUEST_LOSS, pass->loss->name);
    for (size_t i = 0; i < count; i++)
        put_option(body, options[i].name, options[i].value);
    protobuf_varint(body, REQUEST_FORWARD_ONLY, !gradients);
}

static bool is_text(const struct protobuf_reader *bytes, const char *text)
{
    return protobuf_left(bytes) == strlen(text) && memcmp(bytes->at, text, strlen(text)) == 0;
}

static uint32_t bits_at(const unsigned char *at)
{
    uint32_t bits;
    memcpy(&bits, at, sizeof bits);
    return le32toh(bits);
}

static double float_at(const unsigned char *at)
{
    const uint32_t bits = bits_at(at);
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

/* The upper half of a float. */
static double half_at(const unsigned char *at)
{
    const uint32_t bits = (uint32_t)(at[0] | at[1] << 8) << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static json_t *floats_json(const unsigned char *from, const unsigned char *to, size_t size)
{
    json_t *array = json_array();
    for (; from < to; from += size)
        json_array_append_new(array, json_number(size == 4 ? float_at(from) : half_at(from)));
    return array;
}

static json_t *ids_json(const struct protobuf_reader *bytes)
{
    json_t *array = json_array();
    for (const unsigned char *at = bytes->at; at < bytes->end; at += 4)
        json_array_append_new(array, json_integer((int32_t)bits_at(at)));
    return array;
}

static int malformed(const char *what, struct err *err)
{
    return err_set(err, ERR_PROTOCOL, "the server's answer has malformed %s", what);
}

struct batched {
    struct protobuf_reader data, offsets;
    uint64_t type, columns; /* columns: 0: plain lists */
};

/* The only number of a packed list, as far as it is below 2^14. */
static uint64_t small_at(const struct protobuf_reader *bytes)
{
    const size_t count = protobuf_left(bytes);
    return count == 1   ? bytes->at[0]
           : count == 2 ? (uint64_t)(bytes->at[0] & 127) | (uint64_t)bytes->at[1] << 7
                        : 0;
}

static json_t *shape_json(const struct batched *batched, uint64_t count)
{
    json_t *shape = json_array();
    const uint64_t columns = batched->columns > 0 ? batched->columns : 1;
    json_array_append_new(shape, json_integer((json_int_t)(count / columns)));
    if (batched->columns > 0)
        json_array_append_new(shape, json_integer((json_int_t)columns));
    return shape;
}

static int read_batched(struct protobuf_reader message, struct batched *batched, struct err *err)
{
    struct protobuf_field field;
    int more;
    *batched = (struct batched){0};
    while ((more = protobuf_next(&message, &field, err)) > 0) {
        if (field.number == BATCHED_DATA)
            batched->data = field.bytes;
        else if (field.number == BATCHED_OFFSETS)
            batched->offsets = field.bytes;
        else if (field.number == BATCHED_TYPE)
            batched->type = field.value;
        else if (field.number == BATCHED_SHAPE) /* packed, or alone */
            batched->columns = field.wire == PROTOBUF_VARINT ? field.value : small_at(&field.bytes);
    }
    return more;
}

static uint64_t offset_at(const struct batched *batched, size_t index)
{
    uint64_t offset;
    memcpy(&offset, batched->offsets.at + 8 * index, sizeof offset);
    return le64toh(offset);
}

/* Appends {"logprobs": {"data", "dtype", "shape"}} of each datum. */
static int add_logprobs(const struct batched *batched, json_t *outputs, struct err *err)
{
    const size_t size = batched->type == TYPE_BFLOAT16 ? 2 : 4;
    const size_t bytes = protobuf_left(&batched->data), offsets = protobuf_left(&batched->offsets);
    if ((batched->type != TYPE_FLOAT32 && batched->type != TYPE_BFLOAT16) || offsets % 8 != 0)
        return malformed("'logprobs'", err);
    for (size_t i = 1; i < offsets / 8; i++) {
        const uint64_t from = offset_at(batched, i - 1), to = offset_at(batched, i);
        if (from > to || to > bytes || from % size != 0 || to % size != 0)
            return malformed("'logprobs'", err);
        json_t *data = floats_json(batched->data.at + from, batched->data.at + to, size);
        json_array_append_new(outputs, json_pack("{s:{s:o, s:s, s:o}}", "logprobs", "data", data,
                                                 "dtype", "float32", "shape",
                                                 shape_json(batched, (to - from) / size)));
    }
    return 0;
}

/* An entry of a map: its key, and its value as a field. */
static int read_entry(struct protobuf_reader message, struct protobuf_reader *key,
                      struct protobuf_field *value, struct err *err)
{
    struct protobuf_field field;
    int more;
    *key = (struct protobuf_reader){0};
    *value = (struct protobuf_field){0};
    while ((more = protobuf_next(&message, &field, err)) > 0) {
        if (field.number == ENTRY_KEY)
            *key = field.bytes;
        else if (field.number == ENTRY_VALUE)
            *value = field;
    }
    return more;
}

static int read_record(struct protobuf_reader record, json_t *outputs, struct err *err)
{
    struct protobuf_field field, value;
    struct protobuf_reader key;
    struct batched batched;
    int more;
    while ((more = protobuf_next(&record, &field, err)) > 0) {
        if (field.number != RECORD_FIELDS)
            continue;
        more = read_entry(field.bytes, &key, &value, err);
        if (more == 0 && is_text(&key, "logprobs"))
            more = read_batched(value.bytes, &batched, err);
        else
            continue;
        if (more == 0)
            more = add_logprobs(&batched, outputs, err);
        if (more < 0)
            break;
    }
    return more < 0 ? more : 0;
}

static int read_metric(struct protobuf_reader entry, json_t *metrics, struct err *err)
{
    struct protobuf_reader key;
    struct protobuf_field value;
    double number;
    int result = read_entry(entry, &key, &value, err);
    if (result < 0)
        return result;
    if (protobuf_left(&key) > NAME_BYTES)
        return 0;
    char *name = mem_printf("%.*s", (int)protobuf_left(&key), (const char *)key.at);
    memcpy(&number, &value.value, sizeof number);
    (void)!json_object_set_new(metrics, name, json_number(number)); /* but for names not in UTF-8 */
    mem_free(name);
    return 0;
}

int tinker_proto_read_pass(const void *bytes, size_t count, json_t **out, struct err *err)
{
    struct protobuf_reader message = protobuf_reader(bytes, count);
    struct protobuf_field field;
    json_t *outputs = json_array(), *metrics = json_object();
    int more;
    while ((more = protobuf_next(&message, &field, err)) > 0) {
        if (field.number == OUTPUT_RECORDS)
            more = read_record(field.bytes, outputs, err);
        else if (field.number == OUTPUT_METRICS)
            more = read_metric(field.bytes, metrics, err);
        if (more < 0)
            break;
    }
    *out = json_pack("{s:s, s:o, s:o}", "loss_fn_output_type", "ArrayRecord", "loss_fn_outputs",
                     outputs, "metrics", metrics);
    if (more < 0) {
        json_decref(*out);
        *out = NULL;
    }
    return more;
}

static int read_sequence(struct protobuf_reader message, json_t *sequences, struct err *err)
{
    struct protobuf_reader tokens = {0}, logprobs = {0};
    struct protobuf_field field;
    uint64_t reason = 0; /* absent: 0, which is "stop" */
    int more;
    while ((more = protobuf_next(&message, &field, err)) > 0) {
        if (field.number == SEQUENCE_REASON)
            reason = field.value;
        else if (field.number == SEQUENCE_TOKENS)
            tokens = field.bytes;
        else if (field.number == SEQUENCE_LOGPROBS)
            logprobs = field.bytes;
    }
    if (more == 0 && (protobuf_left(&tokens) % 4 != 0 || protobuf_left(&logprobs) % 4 != 0))
        more = malformed("a sample", err);
    if (more < 0)
        return more;
    json_t *sequence = json_pack("{s:s, s:o, s:o}", "stop_reason", reason == 0 ? "stop" : "length",
                                 "tokens", ids_json(&tokens), "logprobs",
                                 floats_json(logprobs.at, logprobs.end, 4));
    json_array_append_new(sequences, sequence);
    return 0;
}

/* [[id, log-probability], …] of each position; null for one without any. */
static int read_top(struct protobuf_reader message, json_t **out, struct err *err)
{
    struct protobuf_reader ids = {0}, logprobs = {0};
    struct protobuf_field field;
    uint64_t width = 0, length = 0;
    int more;
    while ((more = protobuf_next(&message, &field, err)) > 0) {
        if (field.number == TOP_TOKENS)
            ids = field.bytes;
        else if (field.number == TOP_LOGPROBS)
            logprobs = field.bytes;
        else if (field.number == TOP_WIDTH)
            width = field.value;
        else if (field.number == TOP_LENGTH)
            length = field.value;
    }
    const size_t cells = protobuf_left(&ids) / 4;
    if (more == 0 && (protobuf_left(&logprobs) / 4 != cells || width > cells || length > cells ||
                      width * length != cells))
        more = malformed("'topk_prompt_logprobs'", err);
    if (more < 0)
        return more;
    json_t *list = json_array();
    for (uint64_t i = 0; i < length; i++) {
        json_t *row = json_array();
        for (uint64_t k = i * width; k < (i + 1) * width; k++)
            if (float_at(logprobs.at + 4 * k) > NO_LOGPROB)
                json_array_append_new(row, json_pack("[i, o]", (int)bits_at(ids.at + 4 * k),
                                                     json_number(float_at(logprobs.at + 4 * k))));
        const bool any = json_array_size(row) > 0;
        json_array_append_new(list, any ? json_incref(row) : json_null());
        json_decref(row);
    }
    json_decref(*out); /* of a field that is repeated the last counts */
    *out = list;
    return 0;
}

int tinker_proto_read_sample(const void *bytes, size_t count, json_t **out, struct err *err)
{
    struct protobuf_reader message = protobuf_reader(bytes, count), prompt = {0};
    struct protobuf_field field;
    json_t *sequences = json_array(), *top = NULL;
    int more;
    while ((more = protobuf_next(&message, &field, err)) > 0) {
        if (field.number == RESPONSE_SEQUENCES)
            more = read_sequence(field.bytes, sequences, err);
        else if (field.number == RESPONSE_PROMPT)
            prompt = field.bytes;
        else if (field.number == RESPONSE_PROMPT_TOP)
            more = read_top(field.bytes, &top, err);
        if (more < 0)
            break;
    }
    if (more == 0 && protobuf_left(&prompt) % 4 != 0)
        more = malformed("'prompt_logprobs'", err);
    *out = json_pack("{s:o, s:o*}", "sequences", sequences, "topk_prompt_logprobs", top);
    if (more == 0 && protobuf_left(&prompt) > 0)
        json_put(*out, "prompt_logprobs", floats_json(prompt.at, prompt.end, 4));
    if (more < 0) {
        json_decref(*out);
        *out = NULL;
    }
    return more;
}
