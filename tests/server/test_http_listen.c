#include "../support/test.h"
#include "server/http/http.h"
#include "server/http/listen.h"

TEST(addresses)
{
    static const struct {
        const char *text;
        int family, port; /* port -1: refused */
        bool loopback;
    } rows[] = {
        {"127.0.0.1:80", AF_INET, 80, true},
        {"127.9.9.9:0", AF_INET, 0, true},
        {"127.0.0.1", AF_INET, HTTP_PORT, true},
        {"0.0.0.0:65535", AF_INET, 65535, false},
        {"192.0.2.1:1", AF_INET, 1, false},
        {"[::1]:80", AF_INET6, 80, true},
        {"::1", AF_INET6, HTTP_PORT, true},
        {"[::1]", AF_INET6, HTTP_PORT, true},
        {"[::]:80", AF_INET6, 80, false},
        {"[::ffff:127.0.0.1]:80", AF_INET6, 80, true},
        {"[2001:db8::1]:80", AF_INET6, 80, false},
        {"", 0, -1, false},
        {":80", 0, -1, false},
        {"[]:80", 0, -1, false},
        {"[::1]80", 0, -1, false},
        {"[::1:80", 0, -1, false},
        {"127.0.0.1:", 0, -1, false},
        {"127.0.0.1:x", 0, -1, false},
        {"127.0.0.1:-1", 0, -1, false},
        {"127.0.0.1: 1", 0, -1, false},
        {"127.0.0.1:65536", 0, -1, false},
        {"127.0.0.256:1", 0, -1, false},
        {"no such name:1", 0, -1, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sockaddr_storage address;
        socklen_t count;
        struct err err = {0};
        int result = http_listen_parse(rows[i].text, &address, &count, &err);
        if (result != (rows[i].port < 0 ? ERR_INPUT : 0))
            fail_msg("%s: %d %s", rows[i].text, result, err.text);
        if (result < 0)
            continue;
        assert_int_equal(address.ss_family, rows[i].family);
        assert_int_equal(http_listen_is_loopback(&address), rows[i].loopback);
        /* The port lies at the same place in both. */
        assert_int_equal(ntohs(((struct sockaddr_in *)&address)->sin_port), rows[i].port);
    }
}

TEST(hosts)
{
    static const struct {
        const char *host;
        bool fits;
    } rows[] = {
        {"localhost", true},
        {"LocalHost:10907", true},
        {"127.0.0.1:80", true},
        {"[::1]:80", true},
        {"10.0.0.1", true}, /* a name is what can be rebound */
        {"gym.example:80", true},
        {"GYM.example", true},
        {"other", true},
        {"", false},
        {"gym.example.evil", false},
        {"evil.example", false},
        {"localhost.evil.example", false},
        {"localhost:x", false},
        {"gym", false},
        {"127.0.0.1.evil.example", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (http_host_is_listed(rows[i].host, "gym.example, other") != rows[i].fits)
            fail_msg("%s", rows[i].host);
}

static int open_with(const char *listen, const char *token, const char *insecure, struct err *err)
{
    struct settings settings;
    struct http_server *server;
    settings_init(&settings);
    assert_int_equal(settings_set(&settings, "server.listen", listen, ORIGIN_FILE, err), 0);
    assert_int_equal(settings_set(&settings, "server.token", token, ORIGIN_FILE, err), 0);
    assert_int_equal(settings_set(&settings, "server.insecure", insecure, ORIGIN_FILE, err), 0);
    int result = http_open(&settings, &(struct http_options){0}, &server, err);
    if (result == 0) {
        assert_true(http_port(server) > 0);
        assert_non_null(strstr(http_address(server), "http://"));
    }
    http_free(server);
    settings_deinit(&settings);
    return result;
}

TEST(token_is_needed)
{
    struct err err = {0};
    assert_int_equal(open_with("127.0.0.1:0", "none", "false", &err), 0);
    assert_int_equal(open_with("0.0.0.0:0", "secret", "false", &err), 0);
    assert_int_equal(open_with("0.0.0.0:0", "none", "true", &err), 0);
    assert_int_equal(open_with("0.0.0.0:0", "none", "false", &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "set a token ("));
}
