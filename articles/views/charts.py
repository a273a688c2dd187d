"""Numbers -> SVG, drawn on the server by pygal. Shown by <img>, so that neither its style nor a title acts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pygal
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_cache_control
from django.utils.translation import gettext as _
from pygal.style import Style

WIDTH, HEIGHT = 720, 230
MAX_AGE = 60
NAMESPACE = "{http://www.w3.org/2000/svg}"
FONT = (
    '"Noto Sans CJK SC", "Noto Sans SC", "PingFang SC", "Microsoft YaHei", "WenQuanYi Micro Hei", sans-serif'
)

# The colours of the pages; of a series the first, second and so on. Neighbours differ in lightness too.
LIGHT = {"ink": "#1b1f24", "dim": "#5a6572", "line": "#e1e4e8", "series": ("#1f4e8c", "#8fb4e6", "#d9a441", "#7d6bb5", "#4f9a6b", "#b0605a", "#8a8f96")}  # fmt: skip
DARK = {"ink": "#e6e9ed", "dim": "#9aa5b1", "line": "#2e343c", "series": ("#8ab4f0", "#3f6aa8", "#d9b04e", "#a698dd", "#6fbf8c", "#e08d85", "#9aa1a9")}  # fmt: skip
COLOURS = len(LIGHT["series"])


@dataclass(frozen=True, slots=True)
class Series:
    name: str
    values: Sequence[float | None]


def bars(
    labels: Sequence[str],
    series: Sequence[Series],
    theme: str = "",
    *,
    width: int = WIDTH,
    height: int = HEIGHT,
    shown: Callable[[float], str] | None = None,
    limit: float | None = None,
) -> bytes:
    """Stacked columns, one for each label."""
    every = max(1, -(-len(labels) // 10))
    chart = pygal.StackedBar(
        _config(theme),
        width=width,
        height=height,
        x_labels=list(labels),
        x_labels_major_every=every,
        show_minor_x_labels=False,
        formatter=shown or _whole,
        range=(0, limit or max(_tops(series), default=0) or 1),
        show_legend=len(series) > 1,
        legend_at_bottom=True,
        legend_at_bottom_columns=len(series),
    )
    return _draw(chart, series)


def rows(labels: Sequence[str], series: Sequence[Series], theme: str = "", *, width: int = WIDTH) -> bytes:
    """Stacked bars from left to right, the first label on top."""
    chart = pygal.HorizontalStackedBar(
        _config(theme),
        width=width,
        height=70 + 26 * len(labels),
        x_labels=list(reversed(labels)),
        formatter=_whole,
        legend_at_bottom=True,
        legend_at_bottom_columns=max(1, min(len(series), 5)),
        truncate_label=10,
    )
    return _draw(chart, [Series(part.name, list(reversed(part.values))) for part in series])


def respond(request: HttpRequest, svg: bytes) -> HttpResponse:
    response = HttpResponse(svg, content_type="image/svg+xml")
    patch_cache_control(response, private=True, max_age=MAX_AGE)
    return response


def theme(request: HttpRequest) -> str:
    """What the person has chosen; '' follows the system."""
    chosen = request.COOKIES.get("theme", "")
    return chosen if chosen in ("light", "dark") else ""


def _whole(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else ""


def _tops(series: Sequence[Series]) -> list[float]:
    return [
        sum(value or 0 for value in column) for column in zip(*(part.values for part in series), strict=True)
    ]


def _config(theme: str) -> pygal.Config:
    return pygal.Config(
        style=STYLE,
        css=["file://style.css", "file://graph.css", f"inline:{_css(theme)}"],
        js=[],
        no_prefix=True,
        disable_xml_declaration=True,
        explicit_size=True,
        margin=4,
        spacing=8,
        max_scale=4,
        min_scale=2,
        legend_box_size=10,
        truncate_legend=-1,
        rounded_bars=1,
        no_data_text=_("Nothing yet."),
    )


STYLE = Style(
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
    colors=tuple(f"var(--series-{number})" for number in range(COLOURS)),
)


def _css(theme: str) -> str:
    light, dark = _variables(LIGHT), _variables(DARK)
    if theme:
        return f"svg{{{dark if theme == 'dark' else light}}}"
    return f"svg{{{light}}}@media (prefers-color-scheme:dark){{svg{{{dark}}}}}"


def _variables(colours: dict[str, Any]) -> str:
    plain = "".join(f"--{name}:{colours[name]};" for name in ("ink", "dim", "line"))
    return plain + "".join(f"--series-{number}:{value};" for number, value in enumerate(colours["series"]))


def _draw(chart: Any, series: Sequence[Series]) -> bytes:
    for part in series:
        chart.add(part.name, part.values)
    chart.add_xml_filter(_without_actions)
    return chart.render()


def _without_actions(root: Any) -> Any:
    """An image needs neither the scripts for its tips nor the comments of its maker."""
    for element in list(root.iter()):
        parent = element.getparent()
        if parent is not None and (not isinstance(element.tag, str) or element.tag in _UNWANTED):
            parent.remove(element)
    return root


_UNWANTED = (f"{NAMESPACE}script", f"{NAMESPACE}title", f"{NAMESPACE}desc")
