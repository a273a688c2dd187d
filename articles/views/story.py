from csp.decorators import csp_replace
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from articles import selectors, stories
from articles.views import charts
from articles.views.pages import may


@require_safe
@may("view_newscluster")
def cluster_story(request: HttpRequest, pk: int) -> HttpResponse:
    cluster = selectors.get_cluster(pk)
    if cluster.pk != pk:
        return redirect("cluster_story", cluster.pk)
    copies = stories.copies_of(cluster, request.GET.get("page"))
    context = {
        "cluster": cluster,
        "copies": copies,
        "credits": stories.credit_counts(copies),
        "sources": stories.sources_of(cluster),
        "source_count": selectors.source_counts([cluster]).get(cluster.pk, 0),
        "timeline": stories.timeline_of(cluster),
    }
    return render(request, "articles/cluster_story.html", context)


@require_safe
@may("view_newscluster")
@csp_replace(charts.POLICY)  # type: ignore[arg-type]
def cluster_story_chart(request: HttpRequest, pk: int) -> HttpResponse:
    timeline = stories.timeline_of(selectors.get_cluster(pk))
    form = "m-d" if timeline.by_day else "m-d H:i"
    labels = [date_format(timezone.localtime(slot.start), form) for slot in timeline.slots]
    series = charts.Series(_("Articles"), [slot.copies for slot in timeline.slots])
    return charts.respond(request, charts.bars(labels, [series], charts.theme(request), height=190))
