"""What the pages share: who may see them, and one view for a page and its fragment."""

from collections.abc import Callable
from typing import Any

from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_safe

from articles.forms import DecisionForm
from articles.models import News, NewsCluster


def may(permission: str) -> Callable[..., Any]:
    """Logged in (see LoginRequiredMiddleware) and permitted, else 403: a log-in would not help."""
    return permission_required(f"articles.{permission}", raise_exception=True)


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Where a person's day begins: who decides goes to the desk, who reads to the news."""
    return redirect("desk" if request.user.has_perm("articles.add_newsdecision") else "news_list")


def render_list(request: HttpRequest, page: str, fragment: str, context: dict[str, Any]) -> HttpResponse:
    """The whole page, or for htmx its list alone."""
    response = render(request, fragment if request.htmx else page, context)  # type: ignore[attr-defined]
    # Else the browser's "back" may show the fragment as a page.
    patch_vary_headers(response, ["HX-Request"])
    return response


def beside(members: list[News], left: News | None, right: News | None) -> tuple[News | None, News | None]:
    """The members before and after the right one, to go on to; the left one stays where it is."""
    row = [news for news in members if news != left]
    place = row.index(right) if right in row else -1
    return row[place - 1] if place > 0 else None, row[place + 1] if place + 1 < len(row) else None


def verdict_buttons() -> list[tuple[str, Any, str]]:
    """(verdict, words, key) of each button, in the order of the desk."""
    return [(verdict, label, DecisionForm.KEYS[verdict]) for verdict, label in DecisionForm.VERDICTS]


def way_back(request: HttpRequest, otherwise: str, refused: bool = False) -> str:
    """Where the person was, or wants to be next once it is decided; a group that is gone is no such place."""
    after = (refused and request.POST.get("here")) or request.POST.get("next", "")
    cluster = request.POST.get("cluster", "")
    if cluster.isascii() and cluster.isdigit() and len(cluster) < 19:
        whole = NewsCluster.objects.filter(pk=cluster, size__gt=1).exclude(state=NewsCluster.State.MERGED)
        if not whole.exists():
            after = ""
    return own_address(request, after) or otherwise or reverse("cluster_list")


def own_address(request: HttpRequest, address: str) -> str:
    """The address if it is one of this site, else ''."""
    own = url_has_allowed_host_and_scheme(address, {request.get_host()}, request.is_secure())
    return address if own else ""
