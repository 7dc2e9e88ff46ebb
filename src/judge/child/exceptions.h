/* exceptions: what the C++ runtime says when an exception is not caught.
 *
 * The runtime ends the process then: it writes a line to stderr, which the sandbox discards, and
 * aborts. Here that line goes to a handler. The runtime is a part of the candidate's shared object,
 * so the line is the candidate's, too: a text for a person. Threads: the handler runs on the thread
 * that threw.
 */
#pragma once

/* Ends the process. */
typedef void exceptions_handler(void *context, const char *text);

/* For the C++ runtime that `library` brings along; nothing to do if it brings none. */
void exceptions_catch(void *library, exceptions_handler *handler, void *context);
