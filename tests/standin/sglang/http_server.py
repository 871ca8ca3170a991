# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The HTTP side: which path answers what, when, and to whom."""

from __future__ import annotations

import http
import http.server
import json
import select
import socket
import ssl
import threading

from sglang import answers
from sglang.auth import is_allowed
from sglang.completions import BadRequest, ChatCompletions, Completions, Generate
from sglang.metrics import metrics
from sglang.server import DRAINING, STARTING, Server

TEXT_ENDPOINTS = {endpoint.path: endpoint for endpoint in (Generate, Completions, ChatCompletions)}
DEPRECATED = {"/get_server_info": "/server_info", "/get_model_info": "/model_info", "/get_load": "/v1/loads"}
FOLLOWER_PATHS = ("/ping", "/health", "/health_generate")


class HttpServer(http.server.ThreadingHTTPServer):
    """Binds when it is made. Raises OSError if the address is taken."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, server: Server, handler: type[http.server.BaseHTTPRequestHandler]):
        fields = server.run.fields
        if ":" in fields["host"]:
            self.address_family = socket.AF_INET6
        super().__init__((fields["host"], fields["port"]), handler)
        self.standin = server
        if fields.get("ssl_certfile"):
            self._speak_tls(fields)

    def _speak_tls(self, fields: dict) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(fields["ssl_certfile"], fields["ssl_keyfile"], fields["ssl_keyfile_password"])
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def server_bind(self) -> None:
        """Without the look-up of the host's name that the standard library does here."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = self.server_address[:2]

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no event in uvicorn's log either."""


class QuietHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: HttpServer

    def version_string(self) -> str:
        return "uvicorn"

    def log_message(self, format: str, *args: object) -> None:
        """uvicorn's access line is written where the status is known."""

    def send_body(self, status: int, body: bytes = b"", content_type: str = "application/json") -> None:
        self.send_response(status)
        if body:
            self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_json(self, status: int, document: object) -> None:
        self.send_body(status, json.dumps(document, separators=(",", ":")).encode("utf-8"))


class FollowerHandler(QuietHandler):
    """A node with node_rank >= 1 answers health checks with 200 and knows nothing else."""

    def do_GET(self) -> None:
        if self.path.partition("?")[0] in FOLLOWER_PATHS:
            self.send_body(200)
        else:
            self.send_json(404, {"detail": "Not Found"})


class Handler(QuietHandler):
    @property
    def standin(self) -> Server:
        return self.server.standin

    def do_GET(self) -> None:
        self._answer(
            {
                "/health": self._health,
                "/health_generate": self._health_generate,
                "/ready": self._ready if self.standin.run.release.has_ready_endpoint else None,
                "/v1/models": lambda: self.send_json(200, answers.models(self.standin.run)),
                "/model_info": self._model_info,
                "/get_model_info": self._model_info,
                "/server_info": self._server_info,
                "/get_server_info": self._server_info,
                "/v1/loads": lambda: self.send_json(200, answers.loads(self.standin.run, self.standin.engine)),
                "/get_load": self._get_load if self.standin.run.release.has_get_load else None,
                "/metrics": self._metrics if self.standin.run.fields["enable_metrics"] else None,
            }
        )

    def do_POST(self) -> None:
        self._body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        generation = dict.fromkeys(TEXT_ENDPOINTS, self._generate)
        self._answer({**generation, "/freeze_gc": self._freeze_gc, "/flush_cache": lambda: self.send_body(200)})

    do_PUT = do_POST

    def _answer(self, routes: dict) -> None:
        fields = self.standin.run.fields
        path = self.path.partition("?")[0]
        if not is_allowed(path, self.headers.get("Authorization"), fields["api_key"], fields["admin_api_key"]):
            self.send_json(401, {"error": "Unauthorized"})
            return
        route = routes.get(path)
        if route is None:
            self.send_json(404, {"detail": "Not Found"})
            return
        if path in DEPRECATED:
            self.standin.run.console.log(
                f"Endpoint '{path}' is deprecated and will be removed in a future version. "
                f"Please use '{DEPRECATED[path]}' instead.",
                "warning",
            )
        route()

    def send_response(self, code: int, message: str | None = None) -> None:
        super().send_response(code, message)
        host, port = self.client_address[:2]
        self.standin.run.console.access(
            f'{host}:{port} - "{self.command} {self.path} {self.request_version}" {code} {http.HTTPStatus(code).phrase}'
        )

    # is it there?

    def _health(self) -> None:
        if self.standin.run.environ.get("SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION", "true").lower() in ("false", "0"):
            self.send_body(200)
        else:
            self._health_generate()

    def _health_generate(self) -> None:
        if self.standin.status in (STARTING, DRAINING):
            self.send_body(503)
        else:
            self.send_body(200 if self.standin.check_health() else 503)

    def _ready(self) -> None:
        self.send_body(503 if self.standin.status in (STARTING, DRAINING) else 200)

    # what is it?

    def _model_info(self) -> None:
        self.send_json(200, answers.model_info(self.standin.run))

    def _server_info(self) -> None:
        self.send_json(200, answers.server_info(self.standin.run, self.standin.engine))

    def _get_load(self) -> None:
        self.send_json(200, answers.get_load(self.standin.engine))

    def _metrics(self) -> None:
        text = metrics(self.standin.run, self.standin.engine)
        self.send_body(200, text.encode("utf-8"), "text/plain; version=0.0.4; charset=utf-8")

    def _freeze_gc(self) -> None:
        self.send_body(200, b"Garbage collection frozen.\n", "text/plain; charset=utf-8")

    # text

    def _generate(self) -> None:
        endpoint = TEXT_ENDPOINTS[self.path.partition("?")[0]]
        try:
            body = json.loads(self._body or b"{}")
            if not isinstance(body, dict):
                raise BadRequest("The body must be a JSON object.")
            question = endpoint.question(body)
        except (ValueError, TypeError, BadRequest) as error:
            self.send_json(400, {"error": {"message": str(error), "type": "BadRequestError", "code": 400}})
            return
        with self.standin.generation(question, self._client_is_gone) as (request, progress):
            if question.stream:
                self._stream(endpoint, question, request, progress)
            else:
                done = max(progress, default=0)
                if done >= len(request.words):
                    self.send_json(200, endpoint.answer(self.standin.run, request, question))

    def _stream(self, endpoint, question, request, progress) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        shown = 0
        for done in progress:
            self._send_event(json.dumps(endpoint.chunk(self.standin.run, request, question, shown, done)))
            shown = done
        if shown >= len(request.words):
            self._send_event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def _send_event(self, data: str) -> None:
        event = b"data: %s\n\n" % data.encode("utf-8")
        self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        self.wfile.flush()

    def _client_is_gone(self) -> bool:
        readable, _writable, _failed = select.select([self.connection], [], [], 0)
        if not readable or isinstance(self.connection, ssl.SSLSocket):
            return False
        try:
            return self.connection.recv(1, socket.MSG_PEEK) == b""
        except OSError:
            return True


def serve_in_background(listener: HttpServer) -> None:
    threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
