#include "../support/test.h"
#include "server/http/route_match.h"

static void handler(void *context, struct http_request *request, struct http_response *response)
{
    (void)context, (void)request, (void)response;
}

/* In an order that is none. */
static const struct http_route rows[] = {
    {HTTP_GET, "/files/*path", handler, 0, 0, NULL},
    {HTTP_GET, "/:any", handler, 0, 0, NULL},
    {HTTP_GET, "/v1/jobs/:id", handler, 0, 0, NULL},
    {HTTP_DELETE, "/v1/jobs/:job", handler, 0, 0, NULL},
    {HTTP_POST, "/v1/jobs", handler, 0, 0, NULL},
    {HTTP_GET, "/v1/jobs", handler, 0, 0, NULL},
    {HTTP_GET, "/v1/jobs/stats", handler, 0, 0, NULL},
    {HTTP_GET, "/v1/jobs/:id/events", handler, 0, 0, NULL},
    {HTTP_GET, "/v1/:kind/all/:page", handler, 0, 0, NULL},
    {HTTP_GET, "/", handler, 0, 0, NULL},
    {HTTP_GET, "/files/known", handler, 0, 0, NULL},
};

static struct http_routes made(void)
{
    struct http_routes routes = {0};
    struct err err = {0};
    assert_ok(http_routes_add(&routes, rows, COUNT(rows), NULL, &err), &err);
    return routes;
}

TEST(found)
{
    struct http_routes routes = made();
    static const struct {
        enum http_method method;
        const char *target, *pattern; /* NULL: none */
        const char *name, *value;
        unsigned allowed; /* when there is none */
    } cases[] = {
        {HTTP_GET, "/", "/", NULL, NULL, 0},
        {HTTP_GET, "/v1", "/:any", "any", "v1", 0},
        {HTTP_GET, "/v1/jobs", "/v1/jobs", NULL, NULL, 0},
        {HTTP_POST, "/v1/jobs", "/v1/jobs", NULL, NULL, 0},
        {HTTP_PUT, "/v1/jobs", NULL, NULL, NULL, HTTP_GET | HTTP_POST},
        {HTTP_GET, "/v1/jobs/a%20b", "/v1/jobs/:id", "id", "a b", 0},
        {HTTP_GET, "/v1/jobs/a?x=1", "/v1/jobs/:id", "id", "a", 0},
        {HTTP_DELETE, "/v1/jobs/a", "/v1/jobs/:job", "job", "a", 0},
        {HTTP_GET, "/v1/jobs/stats", "/v1/jobs/stats", NULL, NULL, 0},
        {HTTP_DELETE, "/v1/jobs/stats", "/v1/jobs/:job", "job", "stats", 0},
        {HTTP_GET, "/v1/jobs/a/events", "/v1/jobs/:id/events", "id", "a", 0},
        {HTTP_GET, "/v1/jobs/all/3", "/v1/:kind/all/:page", "page", "3", 0},
        {HTTP_GET, "/v1/jobs/", NULL, NULL, NULL, 0},
        {HTTP_GET, "/v1//", NULL, NULL, NULL, 0},
        {HTTP_GET, "/v1/jobs/a/b", NULL, NULL, NULL, 0},
        {HTTP_GET, "/V1/jobs", NULL, NULL, NULL, 0},
        {HTTP_GET, "/files/known", "/files/known", NULL, NULL, 0},
        {HTTP_GET, "/files/a/b.js", "/files/*path", "path", "a/b.js", 0},
        {HTTP_GET, "/files/", "/files/*path", "path", "", 0},
        {HTTP_POST, "/files/a", NULL, NULL, NULL, HTTP_GET},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct arena arena = {0};
        struct http_target target;
        unsigned allowed;
        assert_int_equal(http_target_parse(cases[i].target, &arena, &target, NULL), 0);
        const struct http_binding *found = http_routes_find(&routes, &target, cases[i].method,
                                                            &allowed);
        if (!found || !cases[i].pattern) {
            if (found || cases[i].pattern)
                fail_msg("%s: %s", cases[i].target, found ? found->route->pattern : "none");
            assert_int_equal(allowed, cases[i].allowed);
        } else {
            assert_string_equal(found->route->pattern, cases[i].pattern);
            if (cases[i].name)
                assert_string_equal(http_routes_parameter(found, &target, cases[i].name),
                                    cases[i].value);
            assert_null(http_routes_parameter(found, &target, "absent"));
        }
        arena_deinit(&arena);
    }
    http_routes_deinit(&routes);
}

TEST(refused)
{
    static const struct http_route bad[] = {
        {HTTP_GET, "", handler, 0, 0, NULL},
        {HTTP_GET, "v1", handler, 0, 0, NULL},
        {HTTP_GET, "/a/:", handler, 0, 0, NULL},
        {HTTP_GET, "/a/*", handler, 0, 0, NULL},
        {HTTP_GET, "/a/*rest/b", handler, 0, 0, NULL},
        {0, "/new", handler, 0, 0, NULL},
        {1024, "/new", handler, 0, 0, NULL},
        {HTTP_GET, "/new", NULL, 0, 0, NULL},
        {HTTP_GET | HTTP_PUT, "/v1/jobs", handler, 0, 0, NULL},
        {HTTP_GET, "/v1/jobs/:other", handler, 0, 0, NULL},
        {HTTP_GET, "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17", handler, 0, 0, NULL},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct http_routes routes = made();
        if (http_routes_add(&routes, &bad[i], 1, NULL, NULL) != ERR_INTERNAL)
            fail_msg("%s was taken", bad[i].pattern);
        http_routes_deinit(&routes);
    }
}
