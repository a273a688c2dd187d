"""What people may ask for. A filter that cannot be read is left out and said to be wrong."""

import re
import secrets
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.http import QueryDict
from django.urls import Resolver404, resolve
from django.utils.translation import gettext_lazy as _

from articles import selectors
from articles.dedup.diff import Ignore
from articles.models import News, NewsCluster, NewsLink
from articles.models.news import TITLE_LENGTH

ANY = ("", _("all"))
IGNORABLE = ("punctuation", "width", "script")


def comparison_options(query: QueryDict) -> dict[str, Any]:
    """How two texts are compared, from the address: ?exact=width counts widths, ?text=clean as judged."""
    exact = set(query.getlist("exact"))
    return {
        "ignore": Ignore(**{name: name not in exact for name in IGNORABLE}),
        "cleaned": query.get("text") == "clean",
    }


def _date(label: Any) -> forms.DateField:
    return forms.DateField(
        label=label, required=False, widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )


def _words(label: Any) -> forms.CharField:
    attributes = {"type": "search", "placeholder": _("Words of the title"), "aria-keyshortcuts": "/"}
    return forms.CharField(
        label=label, required=False, max_length=100, widget=forms.TextInput(attrs=attributes)
    )


def _source() -> forms.CharField:
    attributes = {"list": "sources", "autocomplete": "off", "placeholder": _("all")}
    return forms.CharField(
        label=_("Source"), required=False, max_length=100, widget=forms.TextInput(attrs=attributes)
    )


def _size() -> forms.IntegerField:
    return forms.IntegerField(
        label=_("Articles from"),
        required=False,
        min_value=2,
        max_value=1_000_000,
        widget=forms.NumberInput(attrs={"placeholder": "2"}),
    )


def _share(label: Any) -> forms.FloatField:
    widget = forms.NumberInput(attrs={"step": "0.05", "min": "0", "max": "1"})
    return forms.FloatField(label=label, required=False, min_value=0, max_value=1, widget=widget)


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
    q = _words(_("Title"))
    source = _source()
    since = _date(_("From"))
    until = _date(_("To"))
    verdict = forms.ChoiceField(
        label=_("Verdict"),
        required=False,
        choices=[("", _("without duplicates")), *(choice for choice in News.Verdict.choices if choice[0])],
    )
    kind = forms.ChoiceField(label=_("Has a link"), required=False, choices=[ANY, *NewsLink.Kind.choices])
    state = forms.ChoiceField(label=_("State"), required=False, choices=[ANY, *News.State.choices])
    # Set by the links on an upload's page.
    upload = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1, widget=forms.HiddenInput)


class ClusterFilter(Filter):
    q = _words(_("Lead"))
    state = forms.ChoiceField(
        label=_("State"),
        required=False,
        choices=[ANY, *(choice for choice in NewsCluster.State.choices if choice[0] != "merged")],
    )
    since = _date(_("From"))
    until = _date(_("To"))
    size = _size()


class QueueFilter(Filter):
    """What of the queue a person works on. The kind is chosen by links above the queue."""

    q = _words(_("Title"))
    source = _source()
    since = _date(_("From"))
    until = _date(_("To"))
    lowest = _share(_("Score from"))
    highest = _share(_("Score to"))
    size = _size()
    mine = forms.BooleanField(label=_("only what I have open"), required=False)
    kind = forms.ChoiceField(
        required=False,
        choices=[*NewsLink.Kind.choices, ("cluster", ""), ("changed", "")],
        widget=forms.HiddenInput,
    )

    @property
    def chosen(self) -> dict[str, Any]:
        return {name: value for name, value in super().chosen.items() if value is not False}

    @property
    def narrows(self) -> bool:
        """Something but the kind is chosen, or cannot be read."""
        return bool(self.chosen.keys() - {"kind"} or self.errors)


class PairFilter(QueueFilter):
    """Pairs that wait, as a list."""

    mine = None  # type: ignore[assignment]
    kind = forms.ChoiceField(label=_("Kind"), required=False, choices=[ANY, *NewsLink.Kind.choices])


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
    # When the group that the person saw had changed last.
    seen_at = forms.DateTimeField(required=False, widget=forms.HiddenInput)


class BulkForm(forms.Form):
    """What is to be done with a selection; the selection itself stands in the address, see views.bulk."""

    KEEPERS = (
        ("earliest", _("the earliest article leads")),
        ("longest", _("the longest article leads")),
        ("sources", _("the first of these sources leads")),
    )
    MOST_SOURCES = 30

    action = forms.ChoiceField(label=_("Verdict"), required=False, choices=DecisionForm.VERDICTS)
    keeper = forms.ChoiceField(label=_("Lead"), required=False, choices=KEEPERS)
    sources = forms.CharField(
        label=_("Sources, the preferred one first"),
        required=False,
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 2, "placeholder": _("separated by commas or lines")}),
    )

    def __init__(self, data: Any, subject: str) -> None:
        super().__init__(data, label_suffix="")
        for name in ("keeper", "sources") if subject == "pairs" else ("action",):
            del self.fields[name]

    def clean_sources(self) -> tuple[str, ...]:
        names = [name.strip() for name in re.split(r"[,，、;；\n]", self.cleaned_data["sources"])]
        return tuple(dict.fromkeys(name for name in names if name))[: self.MOST_SOURCES]


class ApplyForm(forms.Form):
    """The word to begin, with what the person saw."""

    note = forms.CharField(required=False, max_length=500)
    seen = forms.DateTimeField()
    count = forms.IntegerField(min_value=1)


class OverrideForm(DecisionForm):
    """A verdict given in the administration, where others will ask for the reason."""

    verdict = forms.ChoiceField(label=_("Verdict"), choices=DecisionForm.VERDICTS, widget=forms.RadioSelect)
    note = forms.CharField(
        label=_("Reason"),
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 2}),
        error_messages={"required": _("Say why: others will ask.")},
    )
    seen = forms.CharField(required=False, max_length=9, widget=forms.HiddenInput)


class UploadForm(forms.Form):
    """A file of news. What is in it the reader of the file judges."""

    SUFFIXES = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".json")

    file = forms.FileField(
        label=_("File"),
        max_length=255,
        error_messages={"required": _("Choose a file."), "empty": _("The file is empty.")},
    )
    source = forms.CharField(
        label=_("Source of rows that name none"),
        required=False,
        max_length=100,
        widget=forms.TextInput(attrs={"list": "sources", "autocomplete": "off"}),
    )
    # Of one showing of the form: sent twice, it is one upload.
    form = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)

    def __init__(self, data: Any = None, files: Any = None) -> None:
        super().__init__(data, files, label_suffix="", initial={"form": secrets.token_hex(16)})
        self.fields["file"].widget.attrs["accept"] = ",".join(self.SUFFIXES)

    def clean_file(self) -> Any:
        return bounded_file(self.cleaned_data["file"], self.SUFFIXES)


class ComparisonForm(forms.Form):
    """Articles and labelled pairs of them, or neither: then the samples are compared."""

    PAIR_SUFFIXES = (".csv", ".tsv", ".txt")

    articles = forms.FileField(
        label=_("File of articles"),
        required=False,
        max_length=255,
        error_messages={"empty": _("The file is empty.")},
    )
    pairs = forms.FileField(
        label=_("Labelled pairs"),
        required=False,
        max_length=255,
        error_messages={"empty": _("The file is empty.")},
    )
    samples = forms.BooleanField(label=_("Use the samples of the project instead"), required=False)
    # Of one showing of the form: sent twice, it is one comparison.
    form = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)

    def __init__(self, data: Any = None, files: Any = None) -> None:
        super().__init__(data, files, label_suffix="", initial={"form": secrets.token_hex(16)})
        self.fields["articles"].widget.attrs["accept"] = ",".join(UploadForm.SUFFIXES)
        self.fields["pairs"].widget.attrs["accept"] = ",".join(self.PAIR_SUFFIXES)

    def clean_articles(self) -> Any:
        file = self.cleaned_data["articles"]
        return file and bounded_file(file, UploadForm.SUFFIXES)

    def clean_pairs(self) -> Any:
        file = self.cleaned_data["pairs"]
        return file and bounded_file(file, self.PAIR_SUFFIXES)

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        if given.get("samples"):
            return given | {"articles": None, "pairs": None}
        for name in ("articles", "pairs"):
            if not given.get(name) and name not in self.errors:
                self.add_error(name, _("Choose a file."))
        return given


def bounded_file(file: Any, suffixes: tuple[str, ...]) -> Any:
    """Raises ValidationError where the file is too large or of another kind."""
    limit = settings.NEWSDEDUP_UPLOAD_MB
    if file.size > limit * 1024 * 1024:
        raise forms.ValidationError(
            _("The file is larger than %(limit)s MB. Split it, or ask the administrator."),
            code="size",
            params={"limit": limit},
        )
    if not file.name.lower().endswith(suffixes):
        raise forms.ValidationError(
            _("“%(name)s” is neither CSV nor JSON lines. Save it as “CSV UTF-8” first."),
            code="kind",
            params={"name": file.name},
        )
    return file


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


class SearchForm(forms.Form):
    """Another article, by words of its title or however else a person names it."""

    q = forms.CharField(
        label=_("The other article"),
        max_length=1000,
        widget=forms.TextInput(
            attrs={"type": "search", "placeholder": _("Words of the title, number, id or address")}
        ),
    )

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, label_suffix="")

    def clean_q(self) -> str:
        words = self.cleaned_data["q"]
        return _own_number(words) or words


class TextForm(forms.Form):
    """A text of one's own, to look for what is like it."""

    LONGEST = 200_000

    title = forms.CharField(label=_("Title"), required=False, max_length=TITLE_LENGTH)
    content = forms.CharField(
        label=_("Body"),
        required=False,
        max_length=LONGEST,
        widget=forms.Textarea(attrs={"rows": 8}),
        error_messages={
            "max_length": _(
                "The text has %(show_value)d characters, at most %(limit_value)d are compared. Shorten it."
            )
        },
    )

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, label_suffix="")

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        if not self.errors and not (given["title"] or given["content"]):
            raise forms.ValidationError(_("Give a headline, a text, or both."), code="empty")
        return given


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
