/* warpgym-side: the standby server for native candidates and for compilers (sandbox/standby.h).
 * Started by the judge with the control socket as descriptor 3; of no use by hand. */
#include "judge/side/native.h"
#include "sandbox/command.h"
#include "sandbox/server.h"

#include <stdio.h>
#include <sys/socket.h>

int main(void)
{
    static struct box box;
    struct err err = {0};
    uint32_t layers = 0;
    if (box_filter_prepare(&err) < 0)
        fprintf(stderr, "warpgym-side: %s\n", err.text); /* box_lock tells the judge as well */
    if (server_ready(SERVER_CONTROL_FD) < 0) {
        fprintf(stderr, "warpgym-side: started by warpgym itself; of no use by hand\n");
        return 2;
    }
    int channel = server_loop(SERVER_CONTROL_FD, &box, &layers);
    if (channel < 0)
        return 0;
    return box.kind == BOX_BUILD ? command_serve(channel, &box, layers)
                                 : native_serve(channel, &box, layers);
}
