"""A browser takes a screenshot of a page of a server of the same run."""

import http.server
import subprocess
import threading

server = http.server.ThreadingHTTPServer(
    ("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler
)
server.RequestHandlerClass.log_message = lambda *_: None
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/page.html"
subprocess.run(
    ["chromium", "--headless", "--no-sandbox", "--screenshot=page.png",
     "--window-size=400,300", url],
    check=True,
    stderr=subprocess.DEVNULL,
)
with open("page.png", "rb") as image:
    print(image.read(4)[1:].decode(), int.from_bytes(image.read(16)[12:16], "big"))
