#include "policy/tinker_token.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

#define RESERVE_S 60.0

void tinker_token_init(struct tinker_token *token)
{
    *token = (struct tinker_token){0};
    pthread_mutex_init(&token->lock, NULL);
}

void tinker_token_deinit(struct tinker_token *token)
{
    mem_free(token->text);
    pthread_mutex_destroy(&token->lock);
}

static double now_s(void)
{
    return (double)clock_wall_ms() * 1e-3;
}

bool tinker_token_is_stale(const struct tinker_token *token)
{
    return !token->text || token->expires_s - now_s() <= RESERVE_S;
}

int tinker_token_set(struct tinker_token *token, const char *text, struct err *err)
{
    const size_t count = strlen(text);
    if (count == 0 || count > TINKER_TOKEN_BYTES || strpbrk(text, "\r\n"))
        return err_set(err, ERR_PROTOCOL, "the server's answer to auth/token has no 'jwt'");
    mem_free(token->text);
    token->text = mem_strdup(text);
    token->expires_s = tinker_token_expiry(text);
    return 0;
}

/* -1: no digit of base64url (RFC 4648, section 5). */
static int digit_of(char letter)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const char *at = letter ? strchr(digits, letter) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* The bytes of a part of a JWT; the caller's (mem_free). */
static char *decode(const char *text, size_t count, size_t *bytes)
{
    char *out = mem_alloc(count + 1);
    unsigned held = 0, bits = 0;
    *bytes = 0;
    for (size_t i = 0; i < count && digit_of(text[i]) >= 0; i++) {
        held = held << 6 | (unsigned)digit_of(text[i]);
        bits += 6;
        if (bits < 8)
            continue;
        bits -= 8;
        out[(*bytes)++] = (char)(held >> bits & 255);
    }
    return out;
}

double tinker_token_expiry(const char *text)
{
    const char *claims = strchr(text, '.');
    json_t *found = NULL;
    double expires_s = INFINITY;
    size_t bytes;
    if (strncmp(text, "eyJ", 3) != 0 || !claims || strlen(text) > TINKER_TOKEN_BYTES)
        return INFINITY;
    char *clear = decode(claims + 1, strcspn(claims + 1, "."), &bytes);
    if (json_parse("claims", clear, bytes, &found, NULL) == 0) {
        const json_t *value = json_object_get(found, "exp");
        if (json_is_number(value))
            expires_s = json_number_value(value);
        json_decref(found);
    }
    mem_free(clear);
    return expires_s;
}

int tinker_token_check_key(const char *key, struct err *err)
{
    const double expires_s = tinker_token_expiry(key);
    char when[CLOCK_TEXT_BYTES];
    if (expires_s > now_s())
        return 0;
    clock_text((int64_t)fmin(expires_s * 1e3, 9e15), when);
    return err_set(err, ERR_INPUT,
                   "the key in TINKER_API_KEY or policy.token expired at %s; set a new one", when);
}
