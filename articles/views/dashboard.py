"""Figures for everybody, and the daily sample of the machine's folds for who decides."""

from csp.decorators import csp_replace
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from articles import selectors, statistics
from articles.forms import comparison_options
from articles.models import AuditSample
from articles.services import audit, health
from articles.templatetags.statistics_tags import decided_name
from articles.views import charts
from articles.views.pages import may, verdict_buttons


@require_safe
@may("view_news")
def dashboard(request: HttpRequest) -> HttpResponse:
    period = statistics.period(request.GET.get("days"))
    context = {
        "period": period,
        "periods": statistics.PERIODS,
        "health": health.reading(),
        "intake": statistics.intake(period),
        "queue": statistics.queue(),
        "sources": statistics.sources(period),
        "verdicts": statistics.verdicts(period),
        "overturns": statistics.overturns(period),
        "audit": statistics.audit(period),
        "sample_size": audit.SAMPLE_SIZE,
    }
    return render(request, "articles/dashboard.html", context)


@require_safe
@may("view_news")
@csp_replace(charts.POLICY)  # type: ignore[arg-type]
def dashboard_chart(request: HttpRequest, name: str) -> HttpResponse:
    draw = CHARTS.get(name)
    if draw is None:
        raise Http404
    period = statistics.period(request.GET.get("days"))
    return charts.respond(request, draw(period, charts.theme(request)))


@require_safe
@may("view_newslink")
def dashboard_audit(request: HttpRequest) -> HttpResponse:
    """Today's sample, one pair of it side by side: the one asked for, else the first without an answer."""
    today = timezone.localdate()
    audit.draw(today)
    samples = statistics.audit_samples(today)
    chosen = _chosen(samples, request.GET.get("pair", ""))
    options = comparison_options(request.GET)
    left, right = selectors.pair_of(chosen.link) if chosen else (None, None)
    context = {
        "samples": samples,
        "chosen": chosen,
        "open": sum(sample.is_open for sample in samples),
        "options": options,
        "comparison": selectors.compare(left, right, **options) if left and right else None,
        "verdicts": verdict_buttons(),
    }
    return render(request, "articles/dashboard_audit.html", context)


def _chosen(samples: list[AuditSample], wanted: str) -> AuditSample | None:
    asked = next((sample for sample in samples if str(sample.pk) == wanted), None)
    return asked or next((sample for sample in samples if sample.is_open), None)


# --- charts -----------------------------------------------------------------------------------------------


def _intake(period: statistics.Period, theme: str) -> bytes:
    days = statistics.intake(period)
    series = [
        charts.Series(_("kept"), [line.kept for line in days]),
        charts.Series(_("duplicates"), [line.duplicates for line in days]),
        charts.Series(_("not settled"), [line.waiting for line in days]),
    ]
    return charts.bars([date_format(line.day, "m-d") for line in days], series, theme, height=300)


def _verdicts(period: statistics.Period, theme: str) -> bytes:
    verdicts = statistics.verdicts(period)
    editors = verdicts.editors[: charts.ROWS]
    series = [
        charts.Series(decided_name(column), [line.counts[column] for line in editors])
        for column in verdicts.columns
    ]
    return charts.rows([line.name or _("system") for line in editors], series, theme)


def _audit(period: statistics.Period, theme: str) -> bytes:
    days = {line.day: line.tally for line in statistics.audit(period).days}
    series = [
        charts.Series(_("correct"), [days[day].right if day in days else 0 for day in period.dates]),
        charts.Series(
            _("wrong"), [days[day].wrong if day in days else 0 for day in period.dates], charts.ALARM
        ),
    ]
    labels = [date_format(day, "m-d") for day in period.dates]
    return charts.bars(labels, series, theme, height=170, limit=audit.SAMPLE_SIZE)


CHARTS = {"intake": _intake, "verdicts": _verdicts, "audit": _audit}
