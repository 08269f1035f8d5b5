"""A web server on the loopback interface that records what it is asked for: hostile files must not make us ask."""

import http.server
import threading
from contextlib import contextmanager

__all__ = ["watched_server"]


@contextmanager
def watched_server():
    """(address of a server, list of the paths that were requested); every answer is "not found"."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_HEAD = do_POST = do_GET  # noqa: N815 (names of the standard library)

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
