"""Comparing schemes: starting it, watching it, and what came of it as tables, charts and files."""

from typing import Any, cast

from csp.decorators import csp_replace
from django.conf import settings
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from articles import selectors
from articles.forms import ComparisonForm
from articles.models import SchemeComparison
from articles.services import comparison, comparisons, health
from articles.services.evaluation import EvaluationError
from articles.services.readers import FileProblemError
from articles.views import charts
from articles.views.pages import may, render_list

FILES = ("csv", "json")


# The form of a page that the browser kept has been used already.
@never_cache
@require_safe
@may("view_schemecomparison")
def schemes(request: HttpRequest) -> HttpResponse:
    return _list(request, ComparisonForm())


@require_POST
@may("add_schemecomparison")
def schemes_create(request: HttpRequest) -> HttpResponse:
    form = ComparisonForm(request.POST, request.FILES)
    if not form.is_valid():
        return _list(request, form)
    given = form.cleaned_data
    try:
        row = comparisons.receive(given["articles"], given["pairs"], cast(User, request.user), given["form"])
    except FileProblemError as error:
        field = "pairs" if given["pairs"] and error.params["path"] == given["pairs"].name else "articles"
        form.add_error(field, str(error))
    except EvaluationError as error:
        form.add_error("pairs", str(error))
    else:
        return redirect("schemes_detail", row.pk)
    return _list(request, form)


@require_safe
@may("view_schemecomparison")
def schemes_detail(request: HttpRequest, pk: int) -> HttpResponse:
    row = selectors.get_comparison(pk)
    context = {
        "row": row,
        "working": not row.is_finished,
        "stalled": comparisons.JOBS.is_stalled(row),
        "problem": comparisons.problem_text(row),
        "lines": _lines(row),
        "suggests": any(scheme.get("suggests") for scheme in row.results.get("schemes", [])),
        "labels": [
            (label, label_name(label), count) for label, count in row.results.get("labels", {}).items()
        ],
        "seconds": comparisons.SECONDS,
        "health": health.reading(),
    }
    return render_list(request, "articles/schemes_detail.html", "articles/_schemes.html", context)


@require_safe
@may("view_schemecomparison")
@csp_replace(charts.POLICY)  # type: ignore[arg-type]
def schemes_chart(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    results = _results(pk)
    draw = CHARTS.get(name)
    if draw is None:
        raise Http404
    return charts.respond(request, draw(results["schemes"], charts.theme(request)))


@require_safe
@may("view_schemecomparison")
def schemes_file(request: HttpRequest, pk: int, form: str) -> HttpResponse:
    """The figures as CSV or JSON, raw, for machines."""
    results = _results(pk)
    if form not in FILES:
        raise Http404
    headers = {"Content-Disposition": f'attachment; filename="schemes-{pk}.{form}"'}
    if form == "json":
        return JsonResponse(results, headers=headers, json_dumps_params={"ensure_ascii": False})
    return HttpResponse(comparison.as_csv(results), content_type="text/csv; charset=utf-8", headers=headers)


def scheme_name(name: str) -> str:
    """In the reader's words; one that another version measured goes by its own."""
    names = {
        "md5": _("MD5 alone"),
        "classic simhash": _("classic SimHash"),
        "minhash lsh": _("MinHash LSH"),
        "sequence": _("difflib's ratio"),
        "judge": _("this judge"),
        "semantic": _("semantic (suggests)"),
    }
    return names.get(name, name)


def label_name(label: str) -> str:
    names = {
        "D": _("duplicate"),
        "U": _("update"),
        "E": _("excerpt"),
        "S": _("same event"),
        "T": _("template"),
        "B": _("furniture"),
        "N": _("other story"),
    }
    return names.get(label, "")


def _list(request: HttpRequest, form: ComparisonForm) -> HttpResponse:
    rows = selectors.comparison_list()
    context = {
        "form": form,
        "page": selectors.read_page(
            rows, "created_at", request.GET.get("after", ""), request.GET.get("before", "")
        ),
        "count": selectors.count(rows),
        "limit": settings.NEWSDEDUP_UPLOAD_MB,
        "articles": comparisons.MAX_ARTICLES,
        "pairs": comparisons.MAX_PAIRS,
    }
    return render(request, "articles/schemes.html", context)


def _lines(row: SchemeComparison) -> list[dict[str, Any]]:
    """The schemes as the tables show them. What was compared by an earlier version tells less."""
    labels, pairs = row.results.get("labels", {}), row.results.get("pairs")
    return [
        scheme
        | {
            "title": scheme_name(scheme["name"]),
            "advice": _(comparison.ADVICE.get(scheme["name"], "–")),
            "part": scheme.get("pairs", pairs) if scheme.get("pairs", pairs) != pairs else None,
            "cells": [scheme["by_label"].get(label) for label in labels],
        }
        for scheme in row.results.get("schemes", [])
    ]


def _results(pk: int) -> dict[str, Any]:
    row = selectors.get_comparison(pk)
    if row.state != SchemeComparison.State.DONE:
        raise Http404
    return row.results


# --- charts -----------------------------------------------------------------------------------------------


def _quality(schemes: list[dict[str, Any]], theme: str) -> bytes:
    figures = [(_("Precision"), "precision"), (_("Recall"), "recall"), ("F1", "f1")]
    # What folds nothing has none of these.
    schemes = [scheme for scheme in schemes if scheme["figures"]["f1"] is not None]
    series = [
        charts.Series(label, [scheme["figures"][name] for scheme in schemes]) for label, name in figures
    ]
    return charts.groups([scheme_name(scheme["name"]) for scheme in schemes], series, theme)


def _growth(schemes: list[dict[str, Any]], theme: str) -> bytes:
    sizes = sorted({cost["articles"] for scheme in schemes for cost in scheme["costs"]})
    series = []
    for scheme in schemes:
        # A logarithm has no zero.
        seconds = {cost["articles"]: max(cost["seconds"], 0.01) for cost in scheme["costs"]}
        series.append(charts.Series(scheme_name(scheme["name"]), [seconds.get(size) for size in sizes]))
    return charts.lines([f"{size:,}" for size in sizes], series, theme)


CHARTS = {"quality": _quality, "growth": _growth}
