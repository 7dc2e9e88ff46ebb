/* What a server may answer about evaluations, and what is made of it. */
#include "client/remote.h"

#include "../support/test.h"
#include "base/json.h"

#include <stdio.h>

TEST(accepted)
{
    static const struct {
        const char *text;
        enum remote_state state;
        bool ended, verdict;
        const char *outcome;
    } rows[] = {
        {"{\"id\": \"x\", \"state\": \"queued\"}", REMOTE_QUEUED, false, false, NULL},
        {"{\"id\": \"x\", \"state\": \"running\", \"worker\": \"w\", \"verdict\": null, \"new\": "
         "1}",
         REMOTE_RUNNING, false, false, NULL},
        {"{\"id\": \"x\", \"state\": \"done\", \"outcome\": \"wrong\", \"verdict\": {}}",
         REMOTE_DONE, true, true, "wrong"},
        {"{\"id\": \"x\", \"state\": \"cancelled\", \"outcome\": \"cancelled\", \"reason\": \"y\"}",
         REMOTE_CANCELLED, true, false, "cancelled"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct remote_evaluation read;
        struct err err = {0};
        json_t *object = support_json(rows[i].text);
        if (remote_read(object, &read, &err) < 0)
            fail_msg("row %zu: %s", i, err.text);
        assert_string_equal(read.id, "x");
        assert_int_equal(read.state, rows[i].state);
        assert_int_equal(read.attempt, 1);
        assert_int_equal(remote_is_ended(&read), rows[i].ended);
        assert_int_equal(read.verdict != NULL, rows[i].verdict);
        assert_int_equal(read.outcome != NULL, rows[i].outcome != NULL);
        if (rows[i].outcome)
            assert_string_equal(read.outcome, rows[i].outcome);
        json_decref(object);
    }
}

TEST(refused)
{
    static const char *const rows[] = {
        "[]",
        "{}",
        "7",
        "{\"id\": 7, \"state\": \"done\"}",
        "{\"id\": \"x\"}",
        "{\"id\": \"x\", \"state\": \"finished\"}",
        "{\"id\": \"x\", \"state\": \"done\", \"verdict\": \"passed\"}",
        "{\"id\": \"x\", \"state\": \"done\", \"outcome\": {}}",
        "{\"id\": \"x\", \"state\": \"done\", \"attempt\": \"one\"}",
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct remote_evaluation read;
        struct err err = {0};
        json_t *object = support_json(rows[i]);
        assert_int_equal(remote_read(object, &read, &err), ERR_PROTOCOL);
        assert_int_equal(err.code, ERR_PROTOCOL);
        assert_true(err.text[0] != '\0');
        json_decref(object);
    }
}

TEST(lists)
{
    static const struct {
        const char *text;
        int result;
    } rows[] = {
        {"{\"evaluations\": []}", 0},
        {"{\"evaluations\": [{\"id\": \"x\", \"state\": \"done\"}], \"before\": 9}", 0},
        {"{\"evaluations\": [], \"before\": null}", 0},
        {"{\"evaluations\": [{\"id\": \"x\", \"state\": \"done\"}, 7]}", ERR_PROTOCOL},
        {"{\"evaluations\": {}}", ERR_PROTOCOL},
        {"{\"evaluations\": [], \"before\": \"9\"}", ERR_PROTOCOL},
        {"{\"evaluations\": [], \"before\": 9.5}", ERR_PROTOCOL},
        {"[]", ERR_PROTOCOL},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        json_t *list = support_json(rows[i].text);
        if (remote_read_list(list, &err) != rows[i].result)
            fail_msg("row %zu: %s", i, err.text);
        json_decref(list);
    }
}

TEST(ids)
{
    char one[REMOTE_ID_BYTES], two[REMOTE_ID_BYTES];
    remote_draw_id(one);
    remote_draw_id(two);
    assert_int_equal(strlen(one), REMOTE_ID_BYTES - 1);
    assert_string_not_equal(one, two);
}
