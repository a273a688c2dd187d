"""What templates need to show numbers, times and differences. Everything here escapes what it is given."""

from datetime import datetime
from typing import Any

from django import template
from django.contrib.auth.models import User
from django.template.context import RequestContext
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from articles import reasons as reason_texts
from articles.dedup.diff import DEL, FACT, INS, Span
from articles.models import NewsLink, Upload
from articles.selectors import PairLink
from articles.services import health, uploads
from articles.services.similar import Similar

register = template.Library()

TAGS = {DEL: "<del>{}</del>", INS: "<ins>{}</ins>", FACT: "<mark>{}</mark>"}
# What the machine's kinds mean in a person's verdicts, where the words differ.
SUGGESTED = {
    "exact": "duplicate",
    "near": "duplicate",
    "rewrite": "duplicate",
    "furniture": "different",
    "suspect": "different",
    "related": "same_event",
}
HOUR, DAY = 3600, 86400
# How much attention a tag asks for; whatever is not named stays grey.
TONES = {
    "suspected": "warn",
    "pending": "warn",
    "update": "warn",
    "template": "warn",
    "suspect": "warn",
    "changed": "warn",
    "excerpt": "warn",
    "cluster": "brand",
    "failed": "bad",
    "reading": "brand",
    "rejected": "bad",
    "different": "bad",
    "lead": "brand",
    "exact": "brand",
    "near": "brand",
    "rewrite": "brand",
    "duplicate": "brand",
    "confirmed": "ok",
    "reviewed": "ok",
}


@register.simple_tag(takes_context=True)
def nav_item(context: RequestContext, view: str, label: str) -> SafeString:
    """A link of the main navigation, marked on all pages of its section."""
    match = getattr(context.get("request"), "resolver_match", None)
    section = view.partition("_")[0]
    current = match is not None and (match.url_name or "").partition("_")[0] == section
    marker = format_html(' aria-current="{}"', "page" if match and match.url_name == view else "true")
    return format_html('<a href="{}"{}>{}</a>', reverse(view), marker if current else "", label)


@register.inclusion_tag("articles/_health.html")
def health_line() -> dict[str, Any]:
    """The queue and the workers in a few words."""
    return {"health": health.reading()}


@register.filter
def problem(upload: Upload) -> str:
    """What is wrong with an upload, in the reader's language."""
    return uploads.problem_text(upload)


@register.filter
def megabytes(size: int) -> str:
    """12 KB, 3.4 MB; a number that files' names are read with."""
    return f"{size / 1024**2:,.1f} MB" if size >= 1024**2 else f"{max(1, round(size / 1024)):,} KB"


@register.filter
def wait(seconds: int) -> str:
    """How long something waits, in the largest unit that is full."""
    for size, text in ((DAY, _("%(number)s d")), (HOUR, _("%(number)s h")), (60, _("%(number)s min"))):
        if seconds >= 2 * size:
            return text % {"number": seconds // size}
    return _("%(number)s s") % {"number": seconds}


@register.simple_tag(takes_context=True)
def theme(context: RequestContext) -> str:
    request = context.get("request")
    chosen = request.COOKIES.get("theme", "") if request else ""
    return chosen if chosen in ("light", "dark") else ""


@register.simple_tag
def tag(value: str, label: str) -> SafeString:
    """A word in a coloured box; the word alone says it all, the colour helps the eye."""
    return format_html('<span class="tag {}">{}</span>', TONES.get(value, ""), label)


@register.filter
def spans(pieces: tuple[Span, ...]) -> SafeString:
    """Highlighted text of a diff."""
    return format_html_join(
        "", "{}", ((format_html(TAGS.get(span.kind, "{}"), span.text),) for span in pieces)
    )


@register.filter
def reasons(stored: list[dict[str, Any]]) -> list[str]:
    """Reason codes in the reader's language."""
    return [reason_texts.render([reason]) for reason in stored]


@register.filter
def kind_name(kind: str) -> str:
    """A verdict's kind in words; the judge also says distinct, a person unsure."""
    others = {
        "distinct": _("distinct"),
        "unsure": _("unsure"),
        "cluster": _("group to confirm"),
        "changed": _("text changed"),
    }
    return str(dict(NewsLink.Kind.choices).get(kind, others.get(kind, kind)))


@register.filter
def name(user: User | None) -> str:
    """What a person is called; without one it was the machine."""
    return (user.get_full_name() or user.get_username()) if user else _("system")


@register.filter
def is_future(moment: datetime | None) -> bool:
    return moment is not None and moment > timezone.now()


@register.filter
def suggestion(link: PairLink | None) -> str:
    """The verdict that a person most likely gives on a link: the button under Enter."""
    if link is None:
        return ""
    if link.link.locked:
        # The verdict of then, where the text was edited since.
        confirmed = link.link.status == NewsLink.Status.CONFIRMED
        return ("duplicate" if confirmed else link.link.kind) if link.link.text_changed else ""
    return SUGGESTED.get(link.link.kind, link.link.kind)


@register.simple_tag(takes_context=True)
def toggled(context: RequestContext, name: str, value: str) -> str:
    """The address of this page with one value of a many-valued parameter added, or taken out."""
    query = context["request"].GET.copy()
    values = query.getlist(name)
    query.setlist(name, [v for v in values if v != value] if value in values else [*values, value])
    return f"?{query.urlencode()}"


@register.filter
def get(mapping: dict[Any, Any], key: Any) -> Any:
    return mapping.get(key)


@register.filter
def number(value: int | None) -> str:
    """12,345 in every language; Django's own filter groups Chinese numbers by four."""
    return "–" if value is None else f"{value:,}"


@register.filter
def percent(share: float | None) -> str:
    """0.914 -> 91%. Only what is whole is called 100%."""
    if share is None:
        return "–"
    rounded = round(share * 100)
    return f"{99 if rounded == 100 and share < 1 else rounded}%"


@register.filter
def score(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


@register.filter
def routes(similar: Similar) -> str:
    """By what an article was found."""
    found, shared = [], similar.match.shared_hashes
    if similar.match.same_title:
        found.append(_("the same title"))
    if shared:
        found.append(
            ngettext("%(number)s shared hash", "%(number)s shared hashes", shared) % {"number": shared}
        )
    if similar.match.near_simhash:
        found.append(_("SimHash at distance %(distance)s") % {"distance": similar.hamming})
    if similar.cosine is not None:
        # A model's cosines differ in the third digit.
        found.append(_("meaning, cosine %(cosine)s") % {"cosine": f"{similar.cosine:.3f}"})
    return " · ".join(found)


@register.filter
def share_width(share: float | None) -> str:
    """A share as a width in an SVG of 100 units; never in the reader's number format."""
    return f"{min(max(share or 0, 0), 1) * 100:.1f}"


@register.filter
def hex64(value: int | None) -> str:
    return "–" if value is None else f"{value & (1 << 64) - 1:016x}"


@register.filter
def hex16(value: int | None) -> str:
    return "–" if value is None else f"{value:04x}"


@register.filter
def bits(value: int | None) -> list[list[bool]]:
    """The 64 bits of a fingerprint, its four bands as rows, the first band first."""
    number = value or 0
    return [[bool(number >> (16 * band + bit) & 1) for bit in range(15, -1, -1)] for band in range(4)]


@register.filter
def after(moment: datetime | None, first: datetime | None) -> str:
    """How long after the first copy: +26 min, +3 h, +2 d."""
    if moment is None or first is None:
        return ""
    seconds = int((moment - first).total_seconds())
    sign, seconds = ("−" if seconds < 0 else "+"), abs(seconds)
    if seconds < HOUR:
        return sign + _("%(number)s min") % {"number": seconds // 60}
    if seconds < DAY:
        return sign + _("%(number)s h") % {"number": seconds // HOUR}
    return sign + ngettext("%(number)s day", "%(number)s days", seconds // DAY) % {"number": seconds // DAY}
