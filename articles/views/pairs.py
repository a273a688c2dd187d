from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from articles import selections, selectors
from articles.forms import PairFilter, PairForm, comparison_options
from articles.models import BulkRun
from articles.services import pipeline
from articles.views.pages import may, render_list, verdict_buttons


@require_safe
@may("view_newslink")
def pair_list(request: HttpRequest) -> HttpResponse:
    """Pairs that wait, to choose many of."""
    form = PairFilter(request.GET)
    rows = selections.pair_list(**form.chosen)
    context = {
        "form": form,
        "page": selections.read_places(rows, request.GET.get("after", "")),
        "count": selectors.count(rows),
        "sources": selectors.sources(),
        "subject": BulkRun.Subject.PAIRS.value,
    }
    return render_list(request, "articles/pair_list.html", "articles/_pair_rows.html", context)


@require_safe
@may("view_newslink")
def why(request: HttpRequest) -> HttpResponse:
    """Any two articles, judged here and now: route, evidence, facts, verdict. Nothing is stored."""
    form = PairForm(request.GET or None)
    options = comparison_options(request.GET)
    context = {"form": form, "options": options}
    if form.is_valid():
        chosen = {news.pk: news for news in (form.cleaned_data["left"], form.cleaned_data["right"])}
        explanation = pipeline.explain(*chosen)
        # The judge's order decides which is left, so that a pair reads the same however it was asked for.
        left, right = chosen[explanation.left_id], chosen[explanation.right_id]
        context |= {
            "left": left,
            "right": right,
            "explanation": explanation,
            "verdicts": verdict_buttons(),
            "comparison": selectors.compare(left, right, **options, reasons=explanation.verdict.reasons),
        }
    return render(request, "articles/why.html", context)
