"""Services for tests of files by URL: one in memory, S3 in a process of its own, and web servers of several kinds."""

import http.server
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

KEYS = {"AWS_ACCESS_KEY_ID": "tests", "AWS_SECRET_ACCESS_KEY": "tests", "AWS_DEFAULT_REGION": "us-east-1"}


def memory() -> Any:
    """The file system of memory://, emptied."""
    import fsspec

    system = fsspec.filesystem("memory", use_listings_cache=False)
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    return system


def stored_in(system: Any, folder: str) -> dict[str, bytes]:
    """Content of all files of a folder by their names in it."""
    start = f"{folder.rstrip('/')}/"
    return {name[len(start) :]: system.cat_file(name) for name in system.find(folder)}


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def s3_server() -> Iterator[dict[str, str]]:
    """An S3 service on this machine; yields the environment with which programs use it."""
    port = _free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert server.poll() is None, "the S3 service must start"
            time.sleep(0.1)
        yield {**KEYS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}
    finally:
        server.kill()
        server.wait()


@contextmanager
def web_server(folder: Path, *, is_short: bool = False, secrets: Sequence[str] = ()) -> Iterator[str]:
    """A web server that sends whole files only, whatever part is asked for; yields its address.

    Files named forbidden... are; with secrets, all are whose request has none of them. With `is_short`, the connection
    ends before the file does.
    """

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments, directory=os.fspath(folder))

        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            sent = f"{self.path} {self.headers.get('Authorization', '')}"
            if "forbidden" in self.path or (secrets and not any(secret in sent for secret in secrets)):
                self.send_error(403)
            else:
                super().do_GET()

        def copyfile(self, source: Any, outputfile: Any) -> None:
            content = source.read()
            with suppress(ConnectionError):  # the client wanted a part
                outputfile.write(content[: len(content) // 2] if is_short else content)
            self.close_connection = True

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
