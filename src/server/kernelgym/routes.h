/* kernelgym_routes: what the two files of KernelGYM's routes share. */
#pragma once

#include "server/http/http.h"
#include "server/kernelgym/result.h"

/* Sends status, header and body of a reply, and deinitialises it. */
void kernelgym_send(struct http_response *response, struct kernelgym_reply *reply);
