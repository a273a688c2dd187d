from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from articles import selectors
from articles.forms import ClusterFilter, comparison_options
from articles.models import BulkRun, News, NewsCluster
from articles.views.pages import beside, may, render_list, verdict_buttons


@require_safe
@may("view_newscluster")
def cluster_list(request: HttpRequest) -> HttpResponse:
    form = ClusterFilter(request.GET)
    rows = selectors.cluster_list(**form.chosen)
    page = selectors.read_page(
        rows, "last_published", request.GET.get("after", ""), request.GET.get("before", "")
    )
    context = {
        "form": form,
        "page": page,
        "count": selectors.count(rows),
        "source_counts": selectors.source_counts(page.rows),
        "subject": BulkRun.Subject.CLUSTERS.value,
    }
    return render_list(request, "articles/cluster_list.html", "articles/_cluster_rows.html", context)


@require_safe
@may("view_newscluster")
def cluster_detail(request: HttpRequest, pk: int) -> HttpResponse:
    cluster = selectors.get_cluster(pk)
    if cluster.pk != pk:
        return redirect("cluster_detail", cluster.pk)
    members = Paginator(selectors.members_of(cluster), selectors.MEMBERS_SIZE).get_page(
        request.GET.get("page")
    )
    left, right = _chosen(request, cluster, list(members))
    options = comparison_options(request.GET)
    preceding, following = beside(list(members), left, right)
    context = {
        "cluster": cluster,
        "members": members,
        "links": selectors.links_to(cluster.lead, members),
        "left": left,
        "right": right,
        "preceding": preceding,
        "following": following,
        "options": options,
        "comparison": selectors.compare(left, right, **options) if left and right else None,
        "verdicts": verdict_buttons(),
        "decisions": selectors.cluster_decisions(cluster),
    }
    return render(request, "articles/cluster_detail.html", context)


def _chosen(
    request: HttpRequest, cluster: NewsCluster, members: list[News]
) -> tuple[News | None, News | None]:
    """The two members side by side: those in the address, else the lead and the first other one."""
    left = selectors.member(cluster, _number(request, "left")) or cluster.lead
    others = [news.pk for news in members if left is None or news.pk != left.pk]
    # One that has left the group, perhaps by the verdict just given, makes room for the first other one.
    right = selectors.member(cluster, _number(request, "right")) or selectors.member(cluster, *others[:1])
    return left, right


def _number(request: HttpRequest, name: str) -> int | None:
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
