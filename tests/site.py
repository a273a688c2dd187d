"""A browser reduced to what the checks need: pages, cookies, forms. Knows neither Django nor pytest."""

import http.client
import re
from html import unescape
from http.cookies import SimpleCookie
from urllib.parse import quote, urlencode

TIMEOUT_SECONDS = 30
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


class Site:
    """The site at a port of this machine. `headers` go with each request, as those of a reverse proxy do."""

    def __init__(self, port: int, headers: dict[str, str] | None = None) -> None:
        self.port = port
        self.headers = headers or {}
        self.cookies: dict[str, str] = {}

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answers(self) -> bool:
        try:
            return self.request("GET", "/login/").status == 200
        except (OSError, http.client.HTTPException):
            return False

    def get(self, path: str) -> str:
        """The page as text, its entities resolved; anything but a page is an error."""
        response = self.request("GET", path)
        assert response.status == 200, f"{path}: {response.status} {response.reason}"
        return unescape(response.body.decode())

    def log_in(self, name: str, password: str) -> None:
        values = {"username": name, "password": password}
        response = self.post("/login/", values, page="/login/")
        assert response.status == 302, f"log-in of {name}: {response.status}"

    def post(self, path: str, values: dict[str, str], page: str) -> "Response":
        """Send the form that stands on a page."""
        body = urlencode({"csrfmiddlewaretoken": self.token(page), **values}).encode()
        return self.request("POST", path, body, FORM)

    def token(self, page: str) -> str:
        found = TOKEN.search(self.get(page))
        assert found, f"{page} has no form"
        return found[1]

    def request(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> "Response":
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_SECONDS)
        sent = self._headers() | (headers or {})
        try:
            connection.request(method, quote(path, safe="/?&=%#+:-._"), body or None, sent)
            answer = connection.getresponse()
            response = Response(answer.status, answer.reason, answer.msg, answer.read())
        finally:
            connection.close()
        for line in response.headers.get_all("Set-Cookie") or ():
            self.cookies |= {name: morsel.value for name, morsel in SimpleCookie(line).items()}
        return response

    def _headers(self) -> dict[str, str]:
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        # Forms are accepted over HTTPS only from the site's own pages.
        scheme = self.headers.get("X-Forwarded-Proto", "http")
        origin = f"{scheme}://{self.headers.get('Host', f'127.0.0.1:{self.port}')}"
        return {"Referer": origin + "/", **({"Cookie": cookies} if cookies else {}), **self.headers}


class Response:
    def __init__(self, status: int, reason: str, headers: http.client.HTTPMessage, body: bytes) -> None:
        self.status, self.reason, self.headers, self.body = status, reason, headers, body
