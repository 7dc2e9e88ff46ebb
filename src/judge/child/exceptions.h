/* exceptions: what the C++ runtime says when an exception is not caught.
 *
 * The runtime ends the process then: it writes a line to stderr and aborts. Here that line goes to
 * a handler. The runtime is a part of the candidate's shared object, so the line is the
 * candidate's, too: a text for a person. Its own handler can be replaced only once the object is
 * loaded; what its constructors throw is read from stderr.
 *
 * Threads: the handler runs on the thread that threw.
 */
#pragma once

/* Ends the process. */
typedef void exceptions_handler(void *context, const char *text);

/* Before a library is loaded; `context` is the handler's. */
void exceptions_expect(exceptions_handler *handler, void *context);
/* When it is loaded: for the C++ runtime that it brings along. NULL: it could not be loaded. */
void exceptions_catch(void *library);
