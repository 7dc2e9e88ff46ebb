"""What the stand-in servers of these tests share: HTTP served by threads of this process."""

import contextlib
import http.server
import json
import socket
import sys
import threading


class FakeServer:
    """A subclass names the class of its requests; each request finds the server as `fake`."""

    handler = None

    def __init__(self):
        self.lock, self.ended = threading.Lock(), threading.Event()
        self.port = 0
        self.come_back()
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.ended.set()
        self.leave()

    def come_back(self):
        handler = type("Handler", (self.handler,), {"fake": self})
        self.server = _Server(("127.0.0.1", self.port), handler)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def leave(self):
        """Stops the server and closes all connections."""
        self.server.shutdown()
        self.server.server_close()
        self.server.hang_up()
        self.thread.join()


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, *arguments):
        self.open = set()
        super().__init__(*arguments)

    def process_request(self, request, client_address):
        self.open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request):
        self.open.discard(request)
        super().shutdown_request(request)

    def hang_up(self):
        for request in list(self.open):
            with contextlib.suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):  # the client may well be gone
            super().handle_error(request, client_address)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # header and body are two writes
    fake = None

    def log_message(self, *words):
        pass

    def body(self):
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return json.loads(data) if data else {}

    def send_text(self, text, status=200, kind="application/json", headers=()):
        data = text if isinstance(text, bytes) else text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def send_json(self, value, status=200, headers=()):
        self.send_text(json.dumps(value), status, headers=headers)
