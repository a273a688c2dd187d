"""What the pages share: who may see them, and one view for a page and its fragment."""

from collections.abc import Callable
from typing import Any

from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers

from articles.forms import DecisionForm


def may(permission: str) -> Callable[..., Any]:
    """Logged in (see LoginRequiredMiddleware) and permitted, else 403: a log-in would not help."""
    return permission_required(f"articles.{permission}", raise_exception=True)


def render_list(request: HttpRequest, page: str, fragment: str, context: dict[str, Any]) -> HttpResponse:
    """The whole page, or for htmx its list alone."""
    response = render(request, fragment if request.htmx else page, context)  # type: ignore[attr-defined]
    # Else the browser's "back" may show the fragment as a page.
    patch_vary_headers(response, ["HX-Request"])
    return response


def verdict_buttons() -> list[tuple[str, Any, str]]:
    """(verdict, words, key) of each button, in the order of the desk."""
    return [(verdict, label, DecisionForm.KEYS[verdict]) for verdict, label in DecisionForm.VERDICTS]
