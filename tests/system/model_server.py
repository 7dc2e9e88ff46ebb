"""An endpoint for chat completions whose answers a test writes: `answers(messages)` is asked."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class ModelServer:
    def __init__(self, answers):
        self.answers, self.asked = answers, []
        handler = type("Handler", (Handler,), {"server_": self})
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.http.shutdown()
        self.http.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # header and body are two writes
    server_ = None

    def log_message(self, *ignored):
        pass

    def do_POST(self):
        count = int(self.headers.get("Content-Length") or 0)
        asked = json.loads(self.rfile.read(count))
        self.server_.asked.append(asked["messages"])
        message = {"role": "assistant", "content": self.server_.answers(asked["messages"])}
        body = json.dumps(
            {
                "id": "chat-1",
                "object": "chat.completion",
                "created": 0,
                "model": asked["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
            }
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
