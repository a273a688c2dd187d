"""What people decide: each view reads a form, calls one service and goes back to where the person was."""

from collections.abc import Callable
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from articles.forms import DecisionForm
from articles.models import NewsCluster, NewsDecision
from articles.services import review
from articles.views.pages import may


@require_POST
@may("add_newsdecision")
def judge_pair(request: HttpRequest, left: int, right: int) -> HttpResponse:
    form = DecisionForm(request.POST)
    return _decide(
        request,
        form,
        lambda given: review.judge_pair(
            left, right, given["verdict"], _actor(request), given["note"], given["seen"]
        ),
        reverse("news_detail", args=[left]),
    )


@require_POST
@may("add_newsdecision")
def confirm_cluster(request: HttpRequest, pk: int) -> HttpResponse:
    form = DecisionForm(request.POST)
    return _decide(
        request,
        form,
        lambda given: review.confirm_cluster(pk, _actor(request), given["note"], seen_at=given["seen_at"]),
    )


@require_POST
@may("add_newsdecision")
def remove_member(request: HttpRequest, pk: int, news: int) -> HttpResponse:
    form = DecisionForm(request.POST)
    return _decide(
        request,
        form,
        lambda given: review.remove_member(pk, news, _actor(request), given["note"]),
        reverse("news_detail", args=[news]),
    )


@require_POST
@may("add_newsdecision")
def set_lead(request: HttpRequest, pk: int, news: int) -> HttpResponse:
    form = DecisionForm(request.POST)
    return _decide(request, form, lambda given: review.set_lead(pk, news, _actor(request), given["note"]))


@require_POST
@may("add_newsdecision")
def undo(request: HttpRequest, pk: int) -> HttpResponse:
    get_object_or_404(NewsDecision, pk=pk)
    form = DecisionForm(request.POST)
    return _decide(request, form, lambda given: review.undo(pk, _actor(request)))


def _decide(
    request: HttpRequest,
    form: DecisionForm,
    service: Callable[[dict[str, Any]], NewsDecision],
    otherwise: str = "",
) -> HttpResponse:
    if not form.is_valid():
        messages.error(request, "; ".join(str(error) for errors in form.errors.values() for error in errors))
        return redirect(_back(request, otherwise, refused=True))
    try:
        decision = service(form.cleaned_data)
    except review.ReviewError as error:
        messages.error(request, str(error))
        return redirect(_back(request, otherwise, refused=True))
    # The number lets the message offer the undo, wherever the pair has gone meanwhile.
    number = "" if decision.action == NewsDecision.Action.UNDO else str(decision.pk)
    messages.success(request, _said(decision), extra_tags=number)
    return redirect(_back(request, otherwise))


def _actor(request: HttpRequest) -> User:
    # `may` has let nobody else in.
    return cast(User, request.user)


def _said(decision: NewsDecision) -> str:
    if decision.action == NewsDecision.Action.UNDO:
        return _("Undone.")
    verdict = dict(DecisionForm.VERDICTS).get(decision.verdict)
    return _("Recorded: %(decision)s") % {"decision": verdict or decision.get_action_display()}


def _back(request: HttpRequest, otherwise: str, refused: bool = False) -> str:
    """Where the person was, or wants to be next once it is decided; a group that is gone is no such place."""
    after = (refused and request.POST.get("here")) or request.POST.get("next", "")
    cluster = request.POST.get("cluster", "")
    if cluster.isascii() and cluster.isdigit() and len(cluster) < 19:
        whole = NewsCluster.objects.filter(pk=cluster, size__gt=1).exclude(state=NewsCluster.State.MERGED)
        if not whole.exists():
            after = ""
    if url_has_allowed_host_and_scheme(after, {request.get_host()}, request.is_secure()):
        return after
    return otherwise or reverse("cluster_list")
