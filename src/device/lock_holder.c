#include "device/lock_holder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "1: FLOCK  ADVISORY  WRITE 4321 00:1d:1234 0 EOF". The device is not compared: some file systems
 * show another one here. 0: it is another lock. */
static pid_t holder_in(const char *line, uint64_t inode)
{
    const char *read = strstr(line, " READ "), *write = strstr(line, " WRITE ");
    const char *at = read ? read + strlen(" READ ") : write ? write + strlen(" WRITE ") : NULL;
    if (!at || !strstr(line, " FLOCK ") || strstr(line, "->"))
        return 0;
    char *end;
    long pid = strtol(at, &end, 10);
    const char *colon = strchr(end, ':');
    colon = colon ? strchr(colon + 1, ':') : NULL;
    return colon && strtoull(colon + 1, NULL, 10) == inode ? (pid_t)pid : 0;
}

pid_t lock_holder(int fd)
{
    struct stat facts;
    char line[256];
    pid_t found = 0;
    FILE *locks = fstat(fd, &facts) == 0 ? fopen("/proc/locks", "re") : NULL;
    while (locks && found <= 0 && fgets(line, sizeof line, locks)) {
        pid_t pid = holder_in(line, (uint64_t)facts.st_ino);
        found = pid != getpid() ? pid : 0;
    }
    if (locks)
        fclose(locks);
    return found > 0 ? found : 0;
}
