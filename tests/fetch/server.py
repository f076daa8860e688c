"""A web server on loopback that serves Fashion-MNIST, or misbehaves, as the first part of the address says.

server.py FOLDER: prints its port, serves until its standard input ends.
"""
import http.server
import os
import sys
import threading
import time

FOLDER = sys.argv[1]


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def answer(self, body, length=None):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def redirect(self, to):
        self.send_response(302)
        self.send_header("Location", to)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def endless(self):
        self.send_response(200)
        self.end_headers()
        while True:
            self.wfile.write(bytes(1 << 20))

    def do_GET(self):
        mode, name = self.path.strip("/").split("/", 1)
        path = os.path.join(FOLDER, name)
        data = open(path, "rb").read() if os.path.isfile(path) else b""
        try:
            if mode == "missing" or not (data or mode == "plain"):
                self.send_error(404)
            elif mode == "good":
                self.answer(data)
            elif mode == "plain":  # uncompressed files only
                if name.endswith(".gz"):
                    self.send_error(404)
                else:
                    import gzip
                    self.answer(gzip.open(path + ".gz").read())
            elif mode == "wrong":  # a page that says it is fine
                self.answer(b"<html>please sign in</html>")
            elif mode == "flipped":
                middle = len(data) // 2
                self.answer(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :])
            elif mode == "cut":  # a whole answer that lacks the end of the file
                self.answer(data[: len(data) // 2])
            elif mode == "truncated":  # the connection ends too early
                self.answer(data[: len(data) // 2], len(data))
                self.close_connection = True
            elif mode == "hang":
                time.sleep(60)
            elif mode == "drip":
                self.send_response(200)
                self.end_headers()
                for byte in data:
                    self.wfile.write(bytes([byte]))
                    time.sleep(0.2)
            elif mode == "loop":
                self.redirect(self.path)
            elif mode == "moved":
                self.redirect("/good/" + name)
            elif mode == "elsewhere":
                self.redirect("file://" + path)
            elif mode == "endless":
                self.endless()
            elif mode == "half":  # labels only
                self.answer(data) if "labels" in name else self.send_error(500)
            else:
                self.send_error(400)
        except (BrokenPipeError, ConnectionResetError):
            pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
os._exit(0)
