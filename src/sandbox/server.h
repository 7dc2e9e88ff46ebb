/* server: the standby server's part of the protocol in standby.h; plain C, also called by the
 * Python server through ctypes (which has to fork by its own means).
 *
 *   loop: server_receive ─► fork ─► A: sandbox_unshare ─► fork ─► B: server_enter ─► work
 *                           │          └──── server_announce
 *                           S: wait for A, server_reply
 */
#pragma once

#include "sandbox/sandbox.h"

#include <stdint.h>

#define SERVER_CONTROL_FD 3
#define SERVER_TEXT_BYTES 512

/* First message of a sandboxed process on its channel, after A's: what holds around it. With the
 * descriptor of its output, if the sandbox has one. */
struct server_hello {
    uint32_t layers;
    int32_t code; /* 0, or why it could not enter (text) */
    char text[SERVER_TEXT_BYTES];
};

/* Reports to the judge that everything is loaded. */
int server_ready(int control);

/* Waits for a request. 1: one is there (*sandbox, *channel set); 0: the judge is gone; < 0:
 * error. */
int server_receive(int control, struct sandbox *sandbox, int *channel);

/* In A: the first message on the channel, which says which process B is. */
int server_announce(int channel, int32_t pid);

/* After A has ended: code 0, or that no child was made. */
int server_reply(int control, int32_t code);

/* In B: waits for the judge's word, binds its life to the judge's, enters the sandbox, says hello.
 * 0, or negative: end the process. *layers for sandbox_lock. */
int server_enter(const struct sandbox *sandbox, int channel, uint32_t *layers);

/* The whole loop for a C server: returns only in a B (the channel, ≥ 0, after server_enter) or when
 * the judge is gone (-1). */
int server_loop(int control, struct sandbox *sandbox, uint32_t *layers);
