"""Many at once: choose on a list, look at the preview, start it, watch it, take it back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from articles import selections
from articles.forms import ApplyForm, BulkForm, ClusterFilter, DecisionForm, Filter, PairFilter
from articles.models import BulkRun
from articles.services import bulk, review
from articles.views.pages import may, render_list

LISTS = {"clusters": "cluster_list", "pairs": "pair_list"}
FILTERS: dict[str, type[Filter]] = {"clusters": ClusterFilter, "pairs": PairFilter}


@dataclass(frozen=True, slots=True)
class Selection:
    """What an address stands for: the ids it names, or all that match its filter, as they are now."""

    subject: str
    ids: Sequence[int]
    whole: bool
    cut: bool
    # The filter cannot be read: acting on all that is left without it would be far too much.
    wrong: bool = False


@never_cache
@require_safe
@may("add_newsdecision")
def bulk_preview(request: HttpRequest) -> HttpResponse:
    chosen = _selection(request.GET)
    if chosen.wrong or not chosen.ids:
        messages.error(request, _("Choose something first.") if not chosen.wrong else _("A filter is wrong."))
        return redirect(_list(request.GET, chosen.subject))
    form = BulkForm(request.GET, chosen.subject)
    given = form.cleaned_data if form.is_valid() else {}
    preview = bulk.preview(chosen.subject, chosen.ids, _keeper(given))
    context = {
        "form": form,
        "chosen": chosen,
        "preview": preview,
        "most": bulk.MOST,
        "seen": timezone.now().isoformat(),
        "verdict": dict(DecisionForm.VERDICTS).get(given.get("action", "")),
        "ready": form.is_valid()
        and preview.count > 0
        and bool(chosen.subject == "clusters" or given["action"]),
        # The selection without what the form itself asks for.
        "kept": [
            (name, value)
            for name, values in request.GET.lists()
            for value in values
            if name not in form.fields
        ],
        "back": _list(request.GET, chosen.subject),
    }
    return render(request, "articles/bulk_preview.html", context)


@require_POST
@may("add_newsdecision")
def bulk_apply(request: HttpRequest) -> HttpResponse:
    """Begin with what the address stands for, unless that has become more than the person saw."""
    chosen = _selection(request.GET)
    form, word = BulkForm(request.GET, chosen.subject), ApplyForm(request.POST)
    again = f"{reverse('bulk_preview')}?{request.GET.urlencode()}"
    if chosen.wrong or not form.is_valid() or not word.is_valid():
        messages.error(request, _("This form cannot be read; look at the preview again."))
        return redirect(again)
    given = form.cleaned_data
    if bulk.preview(chosen.subject, chosen.ids, bulk.Keeper()).count > word.cleaned_data["count"]:
        messages.error(request, _("More has come in meanwhile; look at the preview again."))
        return redirect(again)
    try:
        run = bulk.apply_bulk(
            chosen.subject,
            chosen.ids,
            given.get("action") or bulk.CONFIRM,
            _keeper(given),
            cast(User, request.user),
            word.cleaned_data["note"],
            word.cleaned_data["seen"],
        )
    except review.ReviewError as error:
        messages.error(request, str(error))
        return redirect(_list(request.GET, chosen.subject))
    return redirect("bulk_detail", run.pk)


@require_safe
@may("add_newsdecision")
def bulk_list(request: HttpRequest) -> HttpResponse:
    return render(request, "articles/bulk_list.html", {"runs": selections.recent_runs()})


@never_cache
@require_safe
@may("add_newsdecision")
def bulk_detail(request: HttpRequest, pk: UUID) -> HttpResponse:
    run = get_object_or_404(BulkRun.objects.select_related("actor", "undone_by"), pk=pk)
    context = {
        "run": run,
        "total": run.applied if run.state in ("undoing", "undone") else len(run.items),
        "verdict": dict(DecisionForm.VERDICTS).get(run.action),
        "keeper": dict(BulkForm.KEEPERS).get(run.keeper.get("rule", "")),
        "waiting": bulk.is_waiting(run),
        "refused": selections.refused(run),
        "kept": selections.kept(run),
        "apart": selections.apart(run) if run.state == BulkRun.State.DONE else [],
        "shown": selections.SHOWN,
        "back": reverse(LISTS[run.subject]),
    }
    return render_list(request, "articles/bulk_detail.html", "articles/_bulk.html", context)


@require_POST
@may("add_newsdecision")
def bulk_undo(request: HttpRequest, pk: UUID) -> HttpResponse:
    get_object_or_404(BulkRun, pk=pk)
    try:
        bulk.undo_bulk(pk, cast(User, request.user))
    except review.ReviewError as error:
        messages.error(request, str(error))
    return redirect("bulk_detail", pk)


def _selection(query: QueryDict) -> Selection:
    subject = query.get("of", "")
    subject = subject if subject in FILTERS else "clusters"
    if not query.get("all"):
        ids = [int(id_) for id_ in query.getlist("id") if id_.isascii() and id_.isdigit() and len(id_) < 19]
        return Selection(subject, ids[: bulk.MOST], whole=False, cut=len(ids) > bulk.MOST)
    form = FILTERS[subject](query)
    if not form.is_valid():
        return Selection(subject, [], whole=True, cut=False, wrong=True)
    ids = selections.matching(subject, form.chosen, bulk.MOST + 1)
    return Selection(subject, ids[: bulk.MOST], whole=True, cut=len(ids) > bulk.MOST)


def _keeper(given: dict[str, Any]) -> bulk.Keeper:
    return bulk.Keeper(given.get("keeper") or bulk.EARLIEST, given.get("sources") or ())


def _list(query: QueryDict, subject: str) -> str:
    """The list that the selection was made on, filtered as it was."""
    filters = query.copy()
    for name in ("of", "id", "all", "action", "keeper", "sources"):
        filters.pop(name, None)
    return f"{reverse(LISTS[subject])}?{filters.urlencode()}" if filters else reverse(LISTS[subject])
