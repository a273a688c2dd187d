"""What people decide: each view reads a form, calls one service and goes back to where the person was."""

from collections.abc import Callable
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from articles import desk
from articles.forms import DecisionForm
from articles.models import NewsDecision
from articles.services import review
from articles.views.pages import may, way_back


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
        return redirect(way_back(request, otherwise, refused=True))
    try:
        decision = service(form.cleaned_data)
    except review.ReviewError as error:
        messages.error(request, str(error))
        return redirect(way_back(request, otherwise, refused=True))
    # The number lets the message offer the undo, wherever the pair has gone meanwhile.
    number = "" if decision.action == NewsDecision.Action.UNDO else str(decision.pk)
    messages.success(request, _said(decision), extra_tags=number)
    if left_out := review.left_out(decision):
        messages.warning(request, _stay_out(decision, left_out))
    return redirect(way_back(request, otherwise))


def _stay_out(decision: NewsDecision, left_out: list[int]) -> str:
    """Why the two groups of a duplicate did not become one."""
    said = ngettext(
        "%(number)s article of the two groups stays outside.",
        "%(number)s articles of the two groups stay outside.",
        len(left_out),
    ) % {"number": len(left_out)}
    verdict = desk.keeps_apart(left_out, decision.left_id)
    if verdict is None:
        return said
    named = {"one": verdict.low.title, "other": verdict.high.title}
    return f"{said} " + _("A person keeps “%(one)s” and “%(other)s” apart.") % named


def _actor(request: HttpRequest) -> User:
    # `may` has let nobody else in.
    return cast(User, request.user)


def _said(decision: NewsDecision) -> str:
    if decision.action == NewsDecision.Action.UNDO:
        return _("Undone.")
    verdict = dict(DecisionForm.VERDICTS).get(decision.verdict)
    return _("Recorded: %(decision)s") % {"decision": verdict or decision.get_action_display()}
