/* config: the settings file: one made for this machine, and checked. */
#include "cli/cli.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/paths.h"
#include "cli/config_machine.h"
#include "queue/queue_settings.h"
#include "queue/redis_url.h"
#include "server/http/listen.h"
#include "server/server_settings.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define OUT_BYTES ((size_t)1 << 20)
#define FILE_MODE 0600 /* it may hold a token */

static void write_template(const struct settings *settings, const struct capabilities *found,
                           const char *file, struct buf *out)
{
    struct config_machine machine;
    char host[128] = "this machine", date[32] = "";
    char *header;
    time_t now = time(NULL);
    struct tm parts;
    (void)!gethostname(host, sizeof host - 1);
    if (localtime_r(&now, &parts))
        strftime(date, sizeof date, "%Y-%m-%d", &parts);
    header = mem_printf("Settings of warpgym %s on %s, made by `warpgym config init` on %s.\n"
                        "What is commented out shows its default. The command line and the "
                        "environment (WARPGYM_SECTION_NAME) go before this file.\n"
                        "After a change: warpgym config check %s",
                        WARPGYM_VERSION, host, date, file);
    config_machine_init(&machine, settings, found);
    settings_template(header, machine.choices, machine.count, out);
    config_machine_deinit(&machine);
    mem_free(header);
}

static int config_save(const char *file, const struct buf *text, struct err *err)
{
    char *directory = file_parent(file);
    int result = file_make_directories(directory, 0755, err);
    mem_free(directory);
    return result < 0 ? result : file_write_atomic(file, text->data, text->len, FILE_MODE, err);
}

static int config_write(struct cli_call *call, const char *file, struct err *err)
{
    struct settings settings;
    struct capabilities *found = mem_alloc(sizeof *found);
    bool to_output = strcmp(file, "-") == 0;
    struct buf text;
    settings_init(&settings);
    buf_init(&text, OUT_BYTES);
    int result = settings_read_environment(&settings, environ, err);
    if (result == 0)
        result = capabilities_find(&settings, found, err);
    if (result == 0) {
        write_template(&settings, found, file, to_output ? &call->out : &text);
        result = to_output ? 0 : config_save(file, &text, err);
    }
    if (result == 0 && !to_output)
        buf_printf(&call->out, "%s\n", file);
    buf_deinit(&text);
    settings_deinit(&settings);
    mem_free(found);
    return result;
}

static int config_init_run(struct cli_call *call, void *arguments, struct err *err)
{
    const bool *force = arguments;
    char *standard = paths_config_file();
    const char *file = call->words.count ? call->words.items[0] : standard;
    int result;
    if (!file)
        result = err_set(err, ERR_INPUT, "no home directory; name a FILE");
    else if (strcmp(file, "-") != 0 && !*force && file_exists(file))
        result = err_set(err, ERR_INPUT, "%s is there already; --force replaces it", file);
    else
        result = config_write(call, file, err);
    mem_free(standard);
    return result;
}

int config_init_main(struct cli_call *call)
{
    bool force = false;
    const struct cli_option options[] = {
        OPTION_FLAG('f', "force", &force, "replace the FILE that is there"),
        OPTION_END,
    };
    return cli_run(call, options, config_init_run, &force);
}

/* What a server and a worker would refuse when they start. */
static void check_listen(struct settings *settings, const char *path)
{
    const struct server_settings *server = server_settings(settings);
    const char *listen = settings_text(settings, path);
    struct sockaddr_storage address;
    socklen_t count;
    struct err err;
    if (!*listen)
        return;
    if (http_listen_parse(listen, &address, &count, &err) < 0)
        settings_refuse(&settings->errors, settings, path, "%s: %s", path, err.text);
    else if (!http_listen_is_loopback(&address) && !*server->token && !server->insecure)
        settings_refuse(&settings->errors, settings, path,
                        "%s: others reach %s: set server.token, or server.insecure", path, listen);
}

/* Prints every error of a file. */
static int config_check(const char *file)
{
    struct settings settings;
    struct stat facts;
    settings_init(&settings);
    (void)!settings_read_file(&settings, file, NULL);
    (void)!settings_check(&settings, NULL);
    check_listen(&settings, "server.listen");
    check_listen(&settings, "worker.listen");
    cli_setting_errors(&settings.errors);
    const struct err err = {.code = settings.errors.code};
    int status = err.code ? cli_status(&err) : EXIT_PASSED;
    bool secret = *server_settings(&settings)->token || strchr(queue_settings(&settings)->url, '@');
    if (!err.code && secret && stat(file, &facts) == 0 && (facts.st_mode & 077))
        cli_fail(0, "%s holds a secret and others may read it: chmod 600", file);
    settings_deinit(&settings);
    return status;
}

static int config_check_run(struct cli_call *call, void *arguments, struct err *err)
{
    char *standard = paths_config_file();
    const struct cli_words one = {.items = (const char **)&standard, .count = standard ? 1 : 0};
    const struct cli_words *files = call->words.count ? &call->words : &one;
    int status = EXIT_PASSED;
    for (size_t i = 0; i < files->count; i++) {
        int found = config_check(files->items[i]);
        if (found == EXIT_PASSED)
            buf_printf(&call->out, "%s: good\n", files->items[i]);
        status = status == EXIT_PASSED ? found : status;
    }
    mem_free(standard);
    return files->count ? status : err_set(err, ERR_INPUT, "no home directory; name a FILE");
}

int config_check_main(struct cli_call *call)
{
    const struct cli_option options[] = {OPTION_END};
    return cli_run(call, options, config_check_run, NULL);
}
