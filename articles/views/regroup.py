"""Groups by hand: split one, merge two, and link an article with one that was searched for."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from articles import selections, selectors
from articles.forms import DecisionForm, SearchForm
from articles.services import review
from articles.views.pages import may, own_address, verdict_buttons, way_back


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@may("add_newsdecision")
def cluster_split(request: HttpRequest, pk: int) -> HttpResponse:
    """Choose those that leave together; sent, they leave."""
    cluster = selectors.get_cluster(pk)
    chosen = {
        int(id_) for id_ in request.POST.getlist("news") if id_.isascii() and id_.isdigit() and len(id_) < 19
    }
    note = request.POST.get("note", "")
    if request.method == "POST":
        try:
            decision = review.split(pk, chosen, cast(User, request.user), note)
        except review.ReviewError as error:
            messages.error(request, str(error))
        else:
            messages.success(request, _("Split off."), extra_tags=str(decision.pk))
            return redirect(way_back(request, reverse("cluster_detail", args=[pk])))
    context = {
        "cluster": cluster,
        "members": selections.members_to_split(cluster),
        "chosen": chosen,
        "note": note,
        "back": own_address(request, request.POST.get("next") or request.GET.get("next", "")),
    }
    return render(request, "articles/cluster_split.html", context)


@require_POST
@may("add_newsdecision")
def merge_clusters(request: HttpRequest, pk: int) -> HttpResponse:
    other = request.POST.get("other", "")
    form = DecisionForm(request.POST)
    note = form.cleaned_data["note"] if form.is_valid() else ""
    ids = [pk, int(other)] if other.isascii() and other.isdigit() and len(other) < 19 else [pk]
    try:
        decision = review.merge(ids, cast(User, request.user), note)
    except review.ReviewError as error:
        messages.error(request, str(error))
        return redirect(way_back(request, reverse("cluster_detail", args=[pk]), refused=True))
    messages.success(request, _("Merged."), extra_tags=str(decision.pk))
    return redirect(way_back(request, reverse("cluster_detail", args=[pk])))


@require_safe
@may("add_newsdecision")
def news_link(request: HttpRequest, pk: int) -> HttpResponse:
    """Search the other article of a pair; what is found can be compared, judged, and merged."""
    news = selectors.get_news(pk)
    form = SearchForm(request.GET if "q" in request.GET else None)
    found = selections.search_news(news, form.cleaned_data["q"]) if form.is_valid() else []
    context = {
        "news": news,
        "form": form,
        "found": found,
        "links": selections.links_with(news, found),
        "verdicts": verdict_buttons(),
        "search_rows": selectors.SEARCH_ROWS,
        "back": own_address(request, request.GET.get("next", "")),
    }
    return render(request, "articles/news_link.html", context)
