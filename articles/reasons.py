"""Reason codes of links -> words. Codes are stored, so that each reader gets them in his own language."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext, gettext_noop

REASONS = {
    "same_text": gettext_noop("identical text"),
    "same_title": gettext_noop("same title"),
    "containment": gettext_noop(
        "%(left)s of the first text is in the second, %(right)s of the second in the first"
    ),
    "simhash": gettext_noop("fingerprints differ in %(distance)s of 64 bits"),
    "title_similar": gettext_noop("titles alike (%(score)s)"),
    "sequence": gettext_noop("%(score)s of their characters in the same order"),
    "number_differs": gettext_noop("another number: %(left)s / %(right)s"),
    "date_differs": gettext_noop("another date: %(left)s / %(right)s"),
    "ordinal_differs": gettext_noop("another ordinal: %(left)s / %(right)s"),
    "negation_differs": gettext_noop("one says it, the other denies it: %(left)s / %(right)s"),
    "opposite_differs": gettext_noop("the opposite: %(left)s / %(right)s"),
    "name_differs": gettext_noop("another name: %(left)s / %(right)s"),
    "out_of_window": gettext_noop("published too far apart"),
    "body_not_about_title": gettext_noop("the text does not mention what the title is about"),
    "short_in_long": gettext_noop("the short text is part of the long one"),
    "text_added": gettext_noop("%(chars)s characters added"),
    "too_short": gettext_noop("too little text to judge"),
    "only_furniture": gettext_noop("nothing but passages that other stories have too"),
    "cluster_reviewed": gettext_noop("the cluster has been reviewed: an editor decides on changes"),
    "same_event_likely": gettext_noop("alike in meaning (cosine %(score)s)"),
    "by_person": gettext_noop("decided by a person"),
}
# Parameters in 0..1, shown in per cent.
SHARES = {
    "containment": ("left", "right"),
    "title_similar": ("score",),
    "sequence": ("score",),
}


def render(reasons: Iterable[Any]) -> str:
    """Reasons as one line in the language that is active; a code that is not known prints as itself."""
    return "; ".join(_render(reason) for reason in reasons)


def turned(reasons: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The same reasons with the pair's sides exchanged."""
    sides = {"left": "right", "right": "left"}
    return [{sides.get(name, name): value for name, value in reason.items()} for reason in reasons]


def _render(reason: Any) -> str:
    if not isinstance(reason, Mapping):
        return str(reason)
    code = str(reason.get("code", ""))
    template = REASONS.get(code)
    if template is None:
        return code
    shares = SHARES.get(code, ())
    shown = _Parameters((name, _show(value, name in shares)) for name, value in reason.items())
    return (gettext(template) % shown).removesuffix(": – / –")


class _Parameters(dict[str, str]):
    """A reason stored by another version may lack a parameter; that must not break a page or an export."""

    def __missing__(self, key: str) -> str:
        return "–"


def _show(value: Any, is_share: bool) -> str:
    if is_share and isinstance(value, int | float):
        return f"{value:.0%}"
    if isinstance(value, list | tuple):
        return "、".join(map(str, value)) or "–"
    return "–" if value in (None, "") else str(value)
