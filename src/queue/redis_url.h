/* redis_url: host, login and database from a Redis URL. */
#pragma once

#include "base/err.h"

#include <stdint.h>

#define REDIS_TEXT_BYTES 256

struct redis_url {
    char user[REDIS_TEXT_BYTES]; /* "": the default user */
    char password[REDIS_TEXT_BYTES];
    char host[REDIS_TEXT_BYTES]; /* an IPv6 address without its brackets */
    int port;
    int database;
    char name[REDIS_TEXT_BYTES + 64]; /* the URL without user and password */
};

/* `place`: [USER:PASSWORD@]HOST[:PORT][/DB]; user and password are percent-encoded (%XX). Errors
 * never contain what precedes the '@'. */
NODISCARD int redis_url_parse(struct redis_url *url, const char *place, struct err *err);
