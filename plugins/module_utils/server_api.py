# Copyright: the llmops.sglang authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reader: the HTTP API of one SGLang server, asked directly, without a proxy and without following redirects."""

from __future__ import annotations

import dataclasses
import errno
import json
import socket
import ssl
import sys
import time
import traceback
from http.client import RemoteDisconnected
from urllib.parse import urlsplit

from ansible_collections.llmops.sglang.plugins.module_utils import redaction

try:
    import requests
except ImportError:
    requests = None
    REQUESTS_IMPORT_ERROR = traceback.format_exc()
else:
    REQUESTS_IMPORT_ERROR = None

SERVER_INFO_PATHS = ("/server_info", "/get_server_info")
LONGEST_CONNECT = 5
LONGEST_BODY = 32 * 1024 * 1024
SECRET_FIELDS = ("api_key", "admin_api_key", "ssl_keyfile_password")
NEVER_RETURNED = SECRET_FIELDS + ("launch_command",)

REFUSED = "refused"
UNREACHABLE = "unreachable"
TIMEOUT = "timeout"
RESET = "reset"
TLS = "tls"
GARBLED = "garbled"


class ServerApiError(Exception):
    """The server can't be asked at all, whatever its state; the text is one sentence for the operator."""


class RequestsMissing(ServerApiError):
    """The interpreter that runs this code has no ``requests``."""

    def __init__(self):
        super().__init__(
            f"The Python library requests is missing in {sys.executable or 'the interpreter'} on this host: install it"
            " (Debian: python3-requests), or set ansible_python_interpreter to the Python of the server's own virtual"
            " environment, which always has it."
        )


@dataclasses.dataclass(frozen=True)
class Answer:
    """What came back for one request.

    ``state`` is the HTTP status as text (``"200"``, ``"503"``, …) or, where no HTTP answer came, one of ``refused``,
    ``unreachable``, ``timeout``, ``reset``, ``tls``, ``garbled``. ``status`` is 0 then, ``error`` says why in a few
    words. ``seconds`` is how long it took.
    """

    state: str
    status: int = 0
    body: str = ""
    seconds: float = 0.0
    error: str = ""

    @property
    def ok(self):
        return self.status == 200

    def json(self):
        """The body as JSON; ``None`` when it is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


@dataclasses.dataclass(frozen=True)
class Address:
    """Where a server listens, and what stands in front of its paths."""

    scheme: str
    host: str
    port: int
    prefix: str

    @property
    def url(self):
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.prefix}"


def parse_url(url, option="url"):
    """``http(s)://HOST[:PORT][/PREFIX]`` to an :class:`Address`; ``option`` is what a failure calls it.

    :raises ServerApiError: for anything else. A URL that carries a password or a query is refused without being shown.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = None, None, None
    if parts is not None and ("@" in parts.netloc or parts.query or parts.fragment):
        raise ServerApiError(
            f"{option} must carry no user, password, query or fragment: give scheme, host and port, and the key as an"
            " option of its own."
        )
    if not host or parts.scheme not in ("http", "https"):
        raise ServerApiError(f"{option} is {url!r}, which is no server's address: write it like http://127.0.0.1:30000.")
    default_port = 443 if parts.scheme == "https" else 80
    return Address(parts.scheme, host, port if port is not None else default_port, parts.path.rstrip("/"))


class ServerApi:
    """One server. Safe to use from several threads: every request has its own connection.

    :arg api_key: sent as ``Authorization: Bearer``; never part of an answer.
    :arg timeout: seconds for a whole request, unless the request names its own.
    :arg ca_path: file with the certificates of a private CA.
    :raises RequestsMissing: when the interpreter has no ``requests``.
    :raises ServerApiError: for a URL that is none.
    """

    def __init__(self, url, api_key=None, timeout=10, ca_path=None, validate_certs=True):
        if requests is None:
            raise RequestsMissing()
        self.address = parse_url(url)
        self._api_key = api_key
        self._timeout = timeout
        self._verify = (ca_path or True) if validate_certs else False

    @property
    def has_key(self):
        return bool(self._api_key)

    def get(self, path, timeout=None):
        """``GET path`` as an :class:`Answer`; never raises for what the server does."""
        return self._ask("GET", path, None, timeout)

    def post(self, path, content, timeout=None):
        """``POST path`` with ``content`` as JSON."""
        return self._ask("POST", path, content, timeout)

    def delete(self, path, timeout=None):
        """``DELETE path`` as an :class:`Answer`."""
        return self._ask("DELETE", path, None, timeout)

    def generate(self, prompt, max_tokens, deadline):
        """``POST /generate``: a greedy completion of at most ``max_tokens`` tokens, within ``deadline`` seconds."""
        content = {
            "text": prompt,
            "sampling_params": {"temperature": 0, "max_new_tokens": max_tokens},
            "stream": False,
        }
        return self.post("/generate", content, deadline)

    def server_info(self, timeout=None):
        """``(status, fields)`` of ``/server_info``, or of ``/get_server_info`` where a release lacks it (before 0.5.6).

        ``status`` is the HTTP status, 0 without an HTTP answer; ``fields`` is a dict without any secret, ``None``
        unless the status is 200 and the body a JSON object.
        """
        answer = self.get(SERVER_INFO_PATHS[0], timeout)
        if answer.status == 404:
            answer = self.get(SERVER_INFO_PATHS[1], timeout)
        fields = answer.json() if answer.ok else None
        if not isinstance(fields, dict):
            return answer.status, None
        return answer.status, without_secrets(fields, self._api_key)

    def accepts(self, timeout=1.0):
        """``None`` if something accepts connections, else the :class:`Answer`. Costs the server no log line."""
        start = time.monotonic()
        try:
            socket.create_connection((self.address.host, self.address.port), timeout).close()
        except OSError as error:
            return _failed(error, time.monotonic() - start)
        return None

    def _ask(self, method, path, content, timeout):
        start = time.monotonic()
        timeout = timeout or self._timeout
        try:
            with requests.Session() as session:
                # A proxy or .netrc of the environment would answer for, or give a key to, somebody else.
                session.trust_env = False
                response = session.request(
                    method,
                    self.address.url + path,
                    json=content,
                    headers=self._headers(),
                    timeout=(min(timeout, LONGEST_CONNECT), timeout),
                    verify=self._verify,
                    allow_redirects=False,
                    stream=True,
                )
                body = _read_body(response, start + timeout)
        except (requests.RequestException, OSError) as error:
            return _failed(error, time.monotonic() - start)
        return Answer(str(response.status_code), response.status_code, body, time.monotonic() - start)

    def _headers(self):
        return {"Authorization": (f"Bearer {self._api_key}").encode()} if self._api_key else {}


def without_secrets(fields, api_key=None):
    """``/server_info`` without what it leaks in every release: keys, passwords, and the command line they stand in."""
    redactor = redaction.Redactor()
    for secret in [api_key] + [fields.get(name) for name in SECRET_FIELDS]:
        if secret and isinstance(secret, str):
            redactor.learn(secret)
    kept = {name: value for name, value in fields.items() if name not in NEVER_RETURNED}
    return redaction.redact_structure(kept, redactor)


def _read_body(response, deadline):
    body = bytearray()
    for chunk in response.iter_content(65536):
        body += chunk
        if len(body) > LONGEST_BODY:
            raise requests.RequestException(f"the answer is larger than {LONGEST_BODY} bytes")
        if time.monotonic() > deadline:
            raise requests.Timeout("the answer did not end in time")
    return body.decode("utf-8", "replace")


def _failed(error, seconds):
    state, words = _explain(error)
    return Answer(state, seconds=seconds, error=words)


def _explain(error):
    """State and words of a failed request. Only kinds of errors are shown, never their text: it may hold anything."""
    causes = list(_causes(error))

    def has(*kinds):
        return any(isinstance(cause, kinds) for cause in causes)

    if has(ConnectionRefusedError):
        return REFUSED, "nothing listens on the port"
    if has(ssl.SSLCertVerificationError):
        reason = next(cause for cause in causes if isinstance(cause, ssl.SSLCertVerificationError)).verify_message
        return TLS, f"its certificate was not accepted ({reason})"
    if has(ssl.SSLError):
        return TLS, "no TLS connection came about"
    if has(socket.gaierror):
        return UNREACHABLE, "its name can't be resolved"
    if has(socket.timeout, TimeoutError, requests.Timeout):
        return TIMEOUT, "no complete answer came in time"
    if has(ConnectionResetError, BrokenPipeError, RemoteDisconnected):
        return RESET, "the connection was closed before an answer came"
    if any(getattr(cause, "errno", None) in (errno.EHOSTUNREACH, errno.ENETUNREACH) for cause in causes):
        return UNREACHABLE, "there is no route to it"
    return GARBLED, f"what answers does not speak HTTP as expected ({type(error).__name__})"


def _causes(error):
    """The error and everything it wraps; ``requests`` and ``urllib3`` hide the cause in arguments and attributes."""
    waiting, seen = [error], set()
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        inner = (current.__cause__, current.__context__, getattr(current, "reason", None)) + current.args
        waiting.extend(cause for cause in inner if isinstance(cause, BaseException))
