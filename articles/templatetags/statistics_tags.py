"""What the story of a group and the dashboard show. Everything here escapes what it is given."""

from datetime import datetime
from typing import Any

from django import template
from django.template.context import RequestContext
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext_lazy

from articles import stories
from articles.dedup import attribution
from articles.forms import DecisionForm
from articles.models import NewsCluster, NewsDecision
from articles.templatetags.articles_tags import wait
from articles.views import charts

register = template.Library()

# What a copy says of its origin, in words; the second is its tone.
CREDITS = {
    attribution.OWN: (gettext_lazy("own outlet"), ""),
    attribution.SOURCE: (gettext_lazy("names the source"), "ok"),
    attribution.AGENCY: (gettext_lazy("names the agency"), "ok"),
    attribution.OTHER: (gettext_lazy("names another"), "warn"),
    attribution.ITSELF: (gettext_lazy("signed as its own"), "warn"),
    attribution.DROPPED: (gettext_lazy("attribution dropped"), "bad"),
    attribution.UNKNOWN: (gettext_lazy("origin unknown"), ""),
}


@register.inclusion_tag("articles/_changed.html", takes_context=True)
def changed_since_review(context: RequestContext, cluster: NewsCluster) -> dict[str, Any]:
    """What is no longer as it was when a person reviewed the group; nothing where all is."""
    user = context.get("user")
    changes = stories.changes_since_review(cluster)
    mine = user is not None and user.is_authenticated and cluster.reviewed_by_id == user.pk
    return {"changes": changes, "cluster": cluster, "mine": mine}


@register.simple_tag(takes_context=True)
def chart(context: RequestContext, view: str, alt: str, height: int, *args: Any, **query: Any) -> SafeString:
    """A chart as an image. Theme and language are in its address: a cached one must not outlive them."""
    asked = {**query, "theme": charts.theme(context["request"]), "language": get_language()}
    address = f"{reverse(view, args=args)}?{urlencode(asked)}"
    return format_html(
        '<img class="chart" src="{}" alt="{}" width="{}" height="{}">', address, alt, charts.WIDTH, height
    )


@register.simple_tag
def credit_tag(said: attribution.Attribution) -> SafeString:
    name, tone = CREDITS[said.kind]
    return format_html('<span class="tag {}">{}</span>', tone, name)


@register.filter
def decided_name(column: str) -> str:
    """A verdict on a pair or an action on a group, in words."""
    return str(
        dict[str, Any](DecisionForm.VERDICTS).get(column)
        or dict(NewsDecision.Action.choices).get(column, column)
    )


@register.filter
def ago(moment: datetime | None) -> str:
    """How long something has waited."""
    return "–" if moment is None else wait(int((timezone.now() - moment).total_seconds()))


@register.filter
def rows_height(lines: int) -> int:
    return charts.rows_height(min(lines, charts.ROWS))


@register.filter
def add_up(rows: list[Any], name: str) -> int:
    """The sum of one attribute."""
    return sum(getattr(row, name) for row in rows)


@register.filter
def count_of(counts: Any, name: str) -> int:
    return counts[name]


@register.filter
def share_of(part: int, whole: int) -> float | None:
    return part / whole if whole else None


@register.filter
def source_query(source: str) -> str:
    """The part of an address that filters by a source, duplicates included."""
    return urlencode({"source": source})
