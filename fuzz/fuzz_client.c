/* Whatever a server answers is an evaluation, a page of them or a refusal whole, or an error with a
 * text; and what is read can be asked for. */
#include "base/json.h"
#include "base/mem.h"
#include "client/http_client.h"
#include "client/remote.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
    if (!good)
        abort();
}

static void check_refusal(const char *text, size_t bytes)
{
    struct http_client_options options = {.url = "http://127.0.0.1:1"};
    struct http_client_answer answer = {.status = 400, .bytes = bytes};
    struct http_client *client;
    struct err err;
    check(http_client_open(&client, &options, &err) == 0);
    answer.body = mem_strdup(text);
    check(http_client_refusal(client, &answer, &err) == ERR_INPUT);
    check(strstr(err.text, "(400)") != NULL && !strpbrk(err.text, "\n\x1b"));
    http_client_answer_deinit(&answer);
    http_client_close(client);
}

static void check_read(const json_t *object)
{
    struct remote_evaluation read;
    struct err err;
    if (remote_read(object, &read, &err) < 0) {
        check(err.code == ERR_PROTOCOL && err.text[0]);
    } else {
        check(read.state < REMOTE_STATE_COUNT && remote_state_name(read.state)[0]);
        char *escaped = http_client_escape(read.id);
        check(strpbrk(escaped, "/?#& ") == NULL && strcmp(escaped, "..") != 0);
        mem_free(escaped);
    }
    if (remote_read_list(object, &err) < 0)
        check(err.code == ERR_PROTOCOL && err.text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err;
    json_t *object = NULL;
    char *text = mem_copy(data, size);
    check_refusal(text, strlen(text));
    if (json_parse("answer", text, size, &object, &err) == 0)
        check_read(object);
    json_decref(object);
    mem_free(text);
    return 0;
}
