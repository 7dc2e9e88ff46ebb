#include "server/http/route_match.h"

#include <string.h>

#define ALL_METHODS (HTTP_GET | HTTP_POST | HTTP_PUT | HTTP_PATCH | HTTP_DELETE)

void http_routes_deinit(struct http_routes *routes)
{
    mem_free(routes->bindings);
    arena_deinit(&routes->arena);
}

static int pattern_split(struct arena *arena, const char *pattern, struct http_binding *binding,
                         struct err *err)
{
    const char *at = pattern;
    while (*at == '/') {
        size_t length = strcspn(++at, "/");
        if (binding->segment_count == LIMIT_HTTP_SEGMENTS)
            return err_set(err, ERR_INTERNAL, "the pattern %s has too many segments", pattern);
        binding->segments[binding->segment_count++] = arena_strndup(arena, at, length);
        bool named = *at == ':' || *at == '*';
        if ((named && length == 1) || (*at == '*' && at[length]))
            return err_set(err, ERR_INTERNAL, "the pattern %s has a bad segment %s", pattern, at);
        at += length;
    }
    if (*at || binding->segment_count == 0)
        return err_set(err, ERR_INTERNAL, "the pattern %s does not begin with /", pattern);
    return 0;
}

static int segment_rank(const char *segment)
{
    return *segment == '*' ? 2 : *segment == ':' ? 1 : 0;
}

/* Names of parameters do not distinguish patterns. */
static int binding_compare(const struct http_binding *a, const struct http_binding *b)
{
    for (size_t i = 0; i < a->segment_count && i < b->segment_count; i++) {
        int difference = segment_rank(a->segments[i]) - segment_rank(b->segments[i]);
        if (difference == 0 && segment_rank(a->segments[i]) == 0)
            difference = strcmp(a->segments[i], b->segments[i]);
        if (difference != 0)
            return difference;
    }
    return a->segment_count < b->segment_count ? -1 : a->segment_count > b->segment_count;
}

static int add_row(struct http_routes *routes, const struct http_route *row, void *context,
                   struct err *err)
{
    struct http_binding added = {.route = row, .context = context};
    int result = pattern_split(&routes->arena, row->pattern, &added, err);
    if (result < 0)
        return result;
    if (row->methods == 0 || row->methods & ~(unsigned)ALL_METHODS || !row->handler)
        return err_set(err, ERR_INTERNAL, "the row of %s lacks method or handler", row->pattern);
    size_t at = routes->count;
    for (; at > 0; at--) {
        const struct http_binding *before = &routes->bindings[at - 1];
        int order = binding_compare(before, &added);
        if (order == 0 && before->route->methods & row->methods)
            return err_set(err, ERR_INTERNAL, "%s and %s are the same for one method",
                           before->route->pattern, row->pattern);
        if (order < 0)
            break;
    }
    routes->bindings = mem_resize(routes->bindings, (routes->count + 1) * sizeof added);
    memmove(&routes->bindings[at + 1], &routes->bindings[at], (routes->count - at) * sizeof added);
    routes->bindings[at] = added;
    routes->count++;
    return 0;
}

int http_routes_add(struct http_routes *routes, const struct http_route *rows, size_t count,
                    void *context, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        int result = add_row(routes, &rows[i], context, err);
        if (result < 0)
            return result;
    }
    return 0;
}

static bool binding_matches(const struct http_binding *binding, const struct http_target *target)
{
    for (size_t i = 0; i < binding->segment_count; i++) {
        const char *wanted = binding->segments[i];
        if (*wanted == '*')
            return target->segment_count >= i;
        if (i >= target->segment_count)
            return false;
        const char *given = target->segments[i];
        if (*wanted == ':' ? *given == '\0' : strcmp(wanted, given) != 0)
            return false;
    }
    return binding->segment_count == target->segment_count;
}

const struct http_binding *http_routes_find(const struct http_routes *routes,
                                            const struct http_target *target,
                                            enum http_method method, unsigned *allowed)
{
    *allowed = 0;
    for (size_t i = 0; i < routes->count; i++) {
        const struct http_binding *binding = &routes->bindings[i];
        if (!binding_matches(binding, target))
            continue;
        if (binding->route->methods & (unsigned)method)
            return binding;
        *allowed |= binding->route->methods;
    }
    return NULL;
}

const char *http_routes_parameter(const struct http_binding *binding,
                                  const struct http_target *target, const char *name)
{
    const char *rest = target->path;
    for (size_t i = 0; i < binding->segment_count; i++) {
        const char *segment = binding->segments[i];
        if (segment_rank(segment) > 0 && strcmp(segment + 1, name) == 0)
            return *segment == ':' ? target->segments[i] : *rest ? rest + 1 : rest;
        if (i < target->segment_count)
            rest += 1 + strlen(target->segments[i]);
    }
    return NULL;
}
