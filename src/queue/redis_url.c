#include "queue/redis_url.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PORT 6379
#define DATABASE_MAX 65535

static int hex_digit(char digit)
{
    if (isdigit((unsigned char)digit))
        return digit - '0';
    digit = (char)tolower((unsigned char)digit);
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* False: too long, or a '%' without two hexadecimal digits behind it, or %00. */
static bool percent_decode(char out[REDIS_TEXT_BYTES], const char *text, size_t count)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        int byte = (unsigned char)text[i];
        if (byte == '%') {
            bool whole = i + 2 < count;
            int high = whole ? hex_digit(text[i + 1]) : -1,
                low = whole ? hex_digit(text[i + 2]) : -1;
            byte = high < 0 || low < 0 ? 0 : high * 16 + low;
            i += 2;
        }
        if (byte == 0 || used + 1 >= REDIS_TEXT_BYTES)
            return false;
        out[used++] = (char)byte;
    }
    out[used] = '\0';
    return true;
}

static bool parse_login(struct redis_url *url, const char *text, size_t count)
{
    const char *colon = memchr(text, ':', count);
    if (!colon)
        return false;
    size_t user = (size_t)(colon - text);
    return percent_decode(url->user, text, user) &&
           percent_decode(url->password, colon + 1, count - user - 1);
}

/* All of the text as digits; -1: not a number, or above `high`. */
static int parse_number(const char *text, size_t count, int high)
{
    int number = 0;
    if (count == 0 || count > 5)
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (!isdigit((unsigned char)text[i]))
            return -1;
        number = number * 10 + (text[i] - '0');
    }
    return number > high ? -1 : number;
}

/* HOST[:PORT] or [ADDRESS][:PORT]. */
static bool parse_host(struct redis_url *url, const char *text, size_t count)
{
    const char *host = text, *end = text + count;
    const char *close = count && *text == '[' ? memchr(text, ']', count) : NULL;
    const char *colon = memchr(close ? close : text, ':', (size_t)(end - (close ? close : text)));
    if (close) {
        host++;
        if (colon != close + 1 && close + 1 != end)
            return false;
    }
    size_t length = (size_t)((close ? close : colon ? colon : end) - host);
    if (length == 0 || length >= REDIS_TEXT_BYTES)
        return false;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)host[i]) && !strchr(close ? ":.%" : "-._", host[i]))
            return false;
    memcpy(url->host, host, length);
    url->host[length] = '\0';
    if (colon)
        url->port = parse_number(colon + 1, (size_t)(end - colon - 1), 65535);
    return url->port > 0;
}

int redis_url_parse(struct redis_url *url, const char *place, struct err *err)
{
    static const char form[] = "write redis://[user:password@]host[:port][/database]";
    *url = (struct redis_url){.port = PORT};
    const char *at = strrchr(place, '@');
    if (at && !parse_login(url, place, (size_t)(at - place)))
        return err_set(err, ERR_INPUT,
                       "queue: redis://…@%.100s: no user:password before the '@'; a '%%', ':' or "
                       "'@' in one is written %%25, %%3A, %%40",
                       at + 1);
    const char *host = at ? at + 1 : place;
    size_t length = strcspn(host, "/");
    if (!parse_host(url, host, length))
        return err_set(err, ERR_INPUT, "queue: redis://%.100s: no host and port; %s", host, form);
    const char *database = host + length;
    if (*database == '/' && database[1] != '\0')
        url->database = parse_number(database + 1, strlen(database + 1), DATABASE_MAX);
    if (url->database < 0)
        return err_set(err, ERR_INPUT,
                       "queue: redis://%.100s: '%.20s' is not a database number; %s", host,
                       database + 1, form);
    bool v6 = strchr(url->host, ':') != NULL;
    snprintf(url->name, sizeof url->name, "redis://%s%s%s:%d/%d", v6 ? "[" : "", url->host,
             v6 ? "]" : "", url->port, url->database);
    return 0;
}
