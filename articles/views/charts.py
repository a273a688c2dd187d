"""Numbers -> SVG, drawn on the server by pygal and shown by <img>: pages allow no style of its kind."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pygal
from csp.constants import NONE
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_cache_control
from django.utils.translation import gettext as _
from pygal.style import Style

WIDTH, HEIGHT = 720, 230
MARGIN = 4
MAX_AGE = 60
ROWS = 12
# Of a chart opened on its own: it may style itself, and nothing else.
POLICY = {"default-src": [NONE], "style-src": ["'unsafe-inline'"], "sandbox": True}
FONT = (
    '"Noto Sans CJK SC", "Noto Sans SC", "PingFang SC", "Microsoft YaHei", "WenQuanYi Micro Hei", sans-serif'
)

# The colours of the pages, light and dark; of the series neighbours differ in lightness too.
LIGHT = {"ink": "#1b1f24", "dim": "#5a6572", "line": "#e1e4e8"}
DARK = {"ink": "#e6e9ed", "dim": "#9aa5b1", "line": "#2e343c"}
LIGHT_SERIES = ("#1f4e8c", "#8fb4e6", "#d9a441", "#7d6bb5", "#4f9a6b", "#b0605a", "#8a8f96")
DARK_SERIES = ("#8ab4f0", "#3f6aa8", "#d9b04e", "#a698dd", "#6fbf8c", "#e08d85", "#9aa1a9")
COLOURS = len(LIGHT_SERIES)
ALARM = 5


@dataclass(frozen=True, slots=True)
class Series:
    name: str
    # None leaves a gap.
    values: Sequence[float | None]
    # Which of the colours; None takes the next one.
    colour: int | None = None


def bars(
    labels: Sequence[str],
    series: Sequence[Series],
    theme: str = "",
    *,
    width: int = WIDTH,
    height: int = HEIGHT,
    limit: float = 0,
) -> bytes:
    """Stacked columns, one for each label."""
    top = max([1, limit, *_tops(series)])
    chart = pygal.StackedBar(
        _config(theme, series),
        width=width,
        height=height,
        x_labels=list(labels),
        x_labels_major_every=label_step(len(labels)),
        show_minor_x_labels=False,
        y_labels=_ticks(top),
        range=(0, top),
        show_legend=len(series) > 1,
        legend_at_bottom=True,
        legend_at_bottom_columns=len(series),
    )
    return _draw(chart, series)


def label_step(labels: int) -> int:
    """Every which label of the columns is shown: they have room for ten."""
    return max(1, -(-labels // 10))


def groups(labels: Sequence[str], series: Sequence[Series], theme: str = "", *, height: int = 260) -> bytes:
    """Columns of shares, 0..1, side by side: one group for each label."""
    chart = pygal.Bar(
        _config(theme, series, lambda value: f"{value:.0%}"),
        width=WIDTH,
        height=height,
        x_labels=list(labels),
        y_labels=[0, 0.25, 0.5, 0.75, 1],
        range=(0, 1),
        legend_at_bottom=True,
        legend_at_bottom_columns=len(series),
    )
    return _draw(chart, series)


def lines(labels: Sequence[str], series: Sequence[Series], theme: str = "", *, height: int = 300) -> bytes:
    """One line for each series over the labels; the scale is logarithmic, so all values are above 0."""
    chart = pygal.Line(
        _config(theme, series, lambda value: f"{value:,.6g}"),
        width=WIDTH,
        height=height,
        x_labels=list(labels),
        logarithmic=True,
        # The last label is centred below its point, at the edge.
        margin_right=4 * MARGIN,
        y_labels=_powers(series),
        legend_at_bottom=True,
        legend_at_bottom_columns=len(series),
    )
    return _draw(chart, series)


def rows(labels: Sequence[str], series: Sequence[Series], theme: str = "", *, width: int = WIDTH) -> bytes:
    """Stacked bars from left to right, the first label on top."""
    if not labels:
        return bars([""], [Series("", [0])], theme, width=width)
    chart = pygal.HorizontalStackedBar(
        _config(theme, series),
        width=width,
        height=rows_height(len(labels)),
        x_labels=list(reversed(labels)),
        # The library takes every character for a narrow one.
        margin_left=MARGIN
        + 7 * max((sum(not char.isascii() for char in label) for label in labels), default=0),
        y_labels=_ticks(max([1, *_tops(series)])),
        legend_at_bottom=True,
        legend_at_bottom_columns=max(1, min(len(series), 5)),
    )
    return _draw(chart, [Series(part.name, list(reversed(part.values))) for part in series])


def rows_height(lines: int) -> int:
    return 80 + 26 * max(lines, 1)


def respond(request: HttpRequest, svg: bytes) -> HttpResponse:
    response = HttpResponse(svg, content_type="image/svg+xml")
    patch_cache_control(response, private=True, max_age=MAX_AGE)
    return response


def theme(request: HttpRequest) -> str:
    """What the person has chosen; '' follows the system."""
    chosen = request.COOKIES.get("theme", "")
    return chosen if chosen in ("light", "dark") else ""


def _ticks(top: float) -> list[int]:
    """Whole, round numbers from 0, five steps at most: what is counted has no halves."""
    steps = (mantissa * 10**power for power in range(12) for mantissa in (1, 2, 5))
    step = next(step for step in steps if step * 5 >= top)
    return list(range(0, int(top) + 1, step))


def _tops(series: Sequence[Series]) -> list[float]:
    return [
        sum(value or 0 for value in column) for column in zip(*(part.values for part in series), strict=True)
    ]


def _powers(series: Sequence[Series]) -> list[float]:
    """The powers of ten around all values."""
    values = [value for part in series for value in part.values if value] or [1]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return [10.0**power for power in range(low, max(high, low + 1) + 1)]


def _config(
    theme: str,
    series: Sequence[Series],
    formatter: Callable[[float], str] = lambda value: f"{value:,.0f}",
) -> pygal.Config:
    return pygal.Config(
        style=_style(series),
        formatter=formatter,
        css=["file://style.css", "file://graph.css", f"inline:{_css(theme)}"],
        js=[],
        no_prefix=True,
        disable_xml_declaration=True,
        explicit_size=True,
        margin=MARGIN,
        spacing=8,
        max_scale=4,
        min_scale=2,
        legend_box_size=10,
        truncate_legend=-1,
        truncate_label=-1,
        no_data_text=_("Nothing yet."),
    )


def _style(series: Sequence[Series]) -> Style:
    numbers = [number if part.colour is None else part.colour for number, part in enumerate(series)]
    return Style(
        background="transparent",
        plot_background="transparent",
        foreground="var(--dim)",
        foreground_strong="var(--ink)",
        foreground_subtle="var(--line)",
        guide_stroke_color="var(--line)",
        major_guide_stroke_color="var(--line)",
        guide_stroke_dasharray="none",
        major_guide_stroke_dasharray="none",
        opacity="1",
        stroke_opacity="1",
        transition="none",
        font_family=FONT,
        label_font_size=12,
        major_label_font_size=12,
        legend_font_size=12,
        no_data_font_size=16,
        colors=tuple(f"var(--series-{number % COLOURS})" for number in numbers or (0,)),
    )


def _css(theme: str) -> str:
    light, dark = _variables(LIGHT, LIGHT_SERIES), _variables(DARK, DARK_SERIES)
    if theme:
        return f"svg{{{dark if theme == 'dark' else light}}}"
    return f"svg{{{light}}}@media (prefers-color-scheme:dark){{svg{{{dark}}}}}"


def _variables(colours: dict[str, str], series: Sequence[str]) -> str:
    numbered = {f"series-{number}": value for number, value in enumerate(series)}
    return "".join(f"--{name}:{value};" for name, value in (colours | numbered).items())


def _draw(chart: Any, series: Sequence[Series]) -> bytes:
    for part in series:
        chart.add(part.name, list(part.values))
    chart.add_xml_filter(_without_actions)
    return chart.render(is_unicode=True).encode()


def _without_actions(root: Any) -> Any:
    """An image needs neither the scripts for its tips nor the comments of its maker."""
    for element in list(root.iter()):
        parent = element.getparent()
        if parent is not None and (not isinstance(element.tag, str) or element.tag in _UNWANTED):
            parent.remove(element)
    return root


_UNWANTED = ("script", "title", "desc")
