/* Whatever a Tinker server answers is read or refused, and what is read is what was asked for. */
#include "base/array.h"
#include "base/json.h"
#include "base/mem.h"
#include "policy/tinker_link.h"
#include "policy/tinker_proto.h"
#include "policy/tinker_wire.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MOST 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
    if (!good)
        abort();
}

static void read_path(const char *text)
{
    struct tinker_path path;
    struct err err = {0};
    int result = tinker_path_parse(&path, text, &err);
    if (result == 0) {
        char *again = mem_printf("tinker://%s/weights/%s", path.run, path.name);
        check(strcmp(again, text) == 0 && !strchr(path.run, '/') && !strchr(path.name, '/'));
        mem_free(again);
    }
    check(result == 0 || (result == ERR_INPUT && err.text[0]));
    tinker_path_deinit(&path);
    char *name = tinker_name(text, 3);
    check(name[0] && name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                       "0123456789-_")] == '\0');
    mem_free(name);
}

static void read_answer(const json_t *answer)
{
    struct train_backend_answer sample = {0};
    struct err err = {0};
    float logprobs[MOST];
    const char *why;
    bool mine;
    enum tinker_state state = tinker_read_future(answer, &why, &mine);
    check(state == TINKER_DONE || state == TINKER_AGAIN || (state == TINKER_FAILED && why));
    if (tinker_read_sample(answer, MOST, &sample, &err) == 0) {
        check(sample.count > 0 && sample.count <= MOST);
        for (size_t i = 0; i < sample.count; i++)
            check(sample.tokens[i] >= 0 && isfinite(sample.logprobs[i]));
    }
    train_backend_answer_deinit(&sample);
    for (size_t count = 1; count <= MOST; count++)
        if (tinker_read_logprobs(answer, count % 2, logprobs, count, &err) == 0)
            for (size_t i = 0; i < count; i++)
                check(isfinite(logprobs[i]));
    (void)tinker_read_norm(answer);
}

static void read_proto(const uint8_t *data, size_t size)
{
    static tinker_decode *const readers[] = {tinker_proto_read_pass, tinker_proto_read_sample};
    for (size_t i = 0; i < COUNT(readers); i++) {
        json_t *answer = NULL;
        struct err err = {0};
        if (readers[i](data, size, &answer, &err) == 0)
            read_answer(answer);
        else
            check(!answer && err.code == ERR_PROTOCOL && err.text[0]);
        json_decref(answer);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = mem_copy(data, size);
    json_t *answer = NULL;
    struct err err;
    read_path(text);
    read_proto(data, size);
    if (json_parse("answer", text, size, &answer, &err) == 0) {
        read_answer(answer);
        json_decref(answer);
    }
    mem_free(text);
    return 0;
}
