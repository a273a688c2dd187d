import ipaddress

from django.http import HttpRequest


def client_address(request: HttpRequest) -> str | None:
    """Who asks, as the reverse proxy says in X-Real-IP; its own address would lock everybody out at once."""
    named = request.headers.get("X-Real-IP", "").strip()
    try:
        return str(ipaddress.ip_address(named))
    except ValueError:
        return request.META.get("REMOTE_ADDR") or None
