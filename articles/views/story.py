from csp.decorators import csp_replace
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
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
    series = charts.Series(_("Articles"), [slot.copies for slot in timeline.slots])
    svg = charts.bars(_labels(timeline), [series], charts.theme(request), height=190)
    return charts.respond(request, svg)


def _labels(timeline: stories.Timeline) -> list[str]:
    """Times, with the day where it is another one than at the label before: all days would not find room."""
    labels: list[str] = []
    step = charts.label_step(len(timeline.slots))
    for number, slot in enumerate(timeline.slots):
        before = timeline.slots[max(0, number - step)]
        if timeline.by_day:
            form = "m-d"
        elif number and slot.start.date() == before.start.date():
            form = "H:i"
        else:
            form = "m-d H:i"
        labels.append(date_format(slot.start, form))
    return labels
