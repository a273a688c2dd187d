"""What people may ask for. A filter that cannot be read is left out and said to be wrong."""

from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.urls import Resolver404, resolve
from django.utils.translation import gettext_lazy as _

from articles import selectors
from articles.models import News, NewsCluster, NewsLink

ANY = ("", _("all"))


def _date(label: Any) -> forms.DateField:
    return forms.DateField(
        label=label, required=False, widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )


class Filter(forms.Form):
    """A form that reads the address: what is valid of it filters."""

    # Colons belong to prose.
    def __init__(self, data: Any) -> None:
        super().__init__(data, label_suffix="")

    @property
    def chosen(self) -> dict[str, Any]:
        self.is_valid()
        return {name: value for name, value in self.cleaned_data.items() if value not in ("", None)}


class NewsFilter(Filter):
    q = forms.CharField(
        label=_("Title"),
        required=False,
        max_length=100,
        widget=forms.TextInput(
            attrs={"type": "search", "placeholder": _("Words of the title"), "aria-keyshortcuts": "/"}
        ),
    )
    source = forms.CharField(
        label=_("Source"),
        required=False,
        max_length=100,
        widget=forms.TextInput(attrs={"list": "sources", "autocomplete": "off", "placeholder": _("all")}),
    )
    since = _date(_("From"))
    until = _date(_("To"))
    verdict = forms.ChoiceField(
        label=_("Verdict"),
        required=False,
        choices=[("", _("without duplicates")), *(choice for choice in News.Verdict.choices if choice[0])],
    )
    kind = forms.ChoiceField(label=_("Has a link"), required=False, choices=[ANY, *NewsLink.Kind.choices])
    state = forms.ChoiceField(label=_("State"), required=False, choices=[ANY, *News.State.choices])


class ClusterFilter(Filter):
    q = forms.CharField(
        label=_("Lead"),
        required=False,
        max_length=100,
        widget=forms.TextInput(
            attrs={"type": "search", "placeholder": _("Words of the title"), "aria-keyshortcuts": "/"}
        ),
    )
    state = forms.ChoiceField(
        label=_("State"),
        required=False,
        choices=[ANY, *(choice for choice in NewsCluster.State.choices if choice[0] != "merged")],
    )
    since = _date(_("From"))
    until = _date(_("To"))
    size = forms.IntegerField(
        label=_("Articles from"),
        required=False,
        min_value=2,
        max_value=1_000_000,
        widget=forms.NumberInput(attrs={"placeholder": "2", "size": 4}),
    )


class DecisionForm(forms.Form):
    """A person's word: on a pair with a verdict, on a group without."""

    VERDICTS = (
        ("duplicate", _("duplicate")),
        ("update", _("update")),
        ("excerpt", _("excerpt")),
        ("same_event", _("same event, other report")),
        ("template", _("template")),
        ("different", _("different")),
        ("unsure", _("unsure")),
    )
    KEYS = dict(zip((verdict for verdict, _label in VERDICTS), "duestxh", strict=True))

    verdict = forms.ChoiceField(required=False, choices=VERDICTS)
    note = forms.CharField(required=False, max_length=500)
    # The link's status as the person saw it; what changed meanwhile is not overwritten.
    seen = forms.CharField(required=False, max_length=9)


class ArticleField(forms.CharField):
    """An article, however a person names it: our number, the source's id, our address or the source's."""

    def clean(self, value: Any) -> News:
        reference = super().clean(value)
        found = selectors.find_news(_own_number(reference) or reference)
        if not found:
            raise forms.ValidationError(_("No article is called so."), code="unknown")
        if len(found) > 1:
            names = ", ".join(f"#{news.pk} {news.source}" for news in found)
            raise forms.ValidationError(
                _("Several articles are called so: %(names)s. Give the number."),
                code="ambiguous",
                params={"names": names},
            )
        return found[0]


def _own_number(address: str) -> str:
    """The #number in the address of one of our own pages, as copied from the browser."""
    try:
        match = resolve(urlsplit(address).path)
    except (Resolver404, ValueError):
        return ""
    return f"#{match.kwargs['pk']}" if match.url_name == "news_detail" else ""


class PairForm(forms.Form):
    left = ArticleField(label=_("One article"), max_length=1000)
    right = ArticleField(label=_("The other"), max_length=1000)

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, label_suffix="")
        for bound in self.fields.values():
            bound.widget.attrs["placeholder"] = _("Number, id or address")

    def clean(self) -> dict[str, Any]:
        chosen = super().clean() or {}
        if chosen.get("left") and chosen.get("left") == chosen.get("right"):
            raise forms.ValidationError(_("These are one and the same article."), code="same")
        return chosen
