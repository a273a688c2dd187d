from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

THEMES = ("light", "dark")
YEAR = 365 * 24 * 3600


@login_not_required
@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Light, dark, or as the system has it. A cookie and no script, so no page ever flashes."""
    after = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(after, {request.get_host()}, request.is_secure())
    response = redirect(after if safe else "home")
    chosen = request.POST.get("theme")
    if chosen in THEMES:
        response.set_cookie(
            "theme", chosen, YEAR, httponly=True, samesite="Lax", secure=settings.SESSION_COOKIE_SECURE
        )
    else:
        response.delete_cookie("theme")
    return response
