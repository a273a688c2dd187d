"""The administration: everything can be looked at; what is changed here goes through the services.

Links, clusters and decisions are shown and not edited: they follow from texts and verdicts.
"""

from collections.abc import Iterable
from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.options import IS_POPUP_VAR
from django.contrib.admin.utils import unquote
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import models
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from articles import selectors
from articles.forms import OverrideForm, comparison_options
from articles.models import News, NewsCluster, NewsDecision, NewsLink, NewsPassage, Upload
from articles.services import furniture, ingest, review, uploads
from articles.templatetags.articles_tags import hex64, score

MAX_AT_ONCE = 1_000
"""Rows of one action: more would keep the browser waiting, and a slip would be large."""
MOST_LISTED = 10_000
"""Rows of a list; what lies farther back is found by a filter or a search."""
TITLE_SHOWN = 40
PASSAGE_SHOWN = 80


class NewestPages(Paginator):
    """The first MOST_LISTED rows: the thousandth page of a long list costs all rows before it."""

    @cached_property
    def count(self) -> int:
        rows = cast(QuerySet[Any], self.object_list)
        return rows.order_by()[:MOST_LISTED].count()


class ArticleAdmin(admin.ModelAdmin):
    """What all lists have in common."""

    paginator = NewestPages

    # One field with the browser's own calendar, instead of two that have one label.
    formfield_overrides = {
        models.DateTimeField: {
            "form_class": forms.DateTimeField,
            "widget": forms.DateTimeInput(
                attrs={"type": "datetime-local", "step": 1}, format="%Y-%m-%dT%H:%M:%S"
            ),
        }
    }
    list_per_page = 50
    show_full_result_count = False

    def has_judge_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("articles.add_newsdecision")

    def has_upload_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("articles.add_upload")

    def chosen(self, request: HttpRequest, rows: QuerySet[Any]) -> list[int]:
        """The ids of the rows of an action; none, with a word of explanation, if they are too many."""
        ids = list(rows.order_by().values_list("pk", flat=True)[: MAX_AT_ONCE + 1])
        if len(ids) <= MAX_AT_ONCE:
            return ids
        said = _("At most %(number)s at once: choose fewer.") % {"number": MAX_AT_ONCE}
        self.message_user(request, said, messages.ERROR)
        return []

    def say(self, request: HttpRequest, count: int, refusals: Iterable[str] = ()) -> None:
        if count:
            done = ngettext("%(count)s row done.", "%(count)s rows done.", count) % {"count": count}
            self.message_user(request, done, messages.SUCCESS)
        for refusal in sorted(set(refusals)):
            self.message_user(request, refusal, messages.ERROR)


class ReadOnlyAdmin(ArticleAdmin):
    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


def shortened(text: str) -> str:
    return Truncator(text or _("(no title)")).chars(TITLE_SHOWN)


def page_link(view: str, pk: int | None, text: str) -> SafeString | str:
    """A link to a page of the site."""
    return format_html('<a href="{}">{}</a>', reverse(view, args=[pk]), text) if pk else "–"


def deletion(rows: Iterable[Model], names: Any) -> tuple[list[str], dict[str, int], set[str], list[str]]:
    """What a page that asks before a deletion shows: what belongs to the rows goes with them unasked."""
    found = list(rows)
    return [str(row) for row in found], {str(names): len(found)}, set(), []


@admin.register(News)
class NewsAdmin(ArticleAdmin):
    list_display = ("number", "short_title", "source", "published_at", "state", "verdict", "in_cluster")
    list_display_links = ("number", "short_title")
    list_filter = ("state", "verdict")
    search_fields = ("title",)
    search_help_text = gettext_lazy("Words of the title among the newest, or the number")
    actions = ("rejudge", "retry_failed")
    fieldsets = (
        (None, {"fields": ("title", "content", "source", "url", "external_id", "published_at")}),
        (
            gettext_lazy("De-duplication"),
            {"fields": ("state", "last_error", "verdict", "in_cluster", "duplicate_of", "judged_at")},
        ),
        (
            gettext_lazy("Fingerprint"),
            {"fields": ("fingerprint", "title_md5", "content_md5", "fingerprint_version")},
        ),
        (gettext_lazy("Origin"), {"fields": ("created_at", "upload")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[News]:
        rows = super().get_queryset(request)
        match = request.resolver_match
        return rows.defer("content") if match and str(match.url_name).endswith("_changelist") else rows

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[News], search_term: str
    ) -> tuple[QuerySet[News], bool]:
        term = search_term.strip().removeprefix("#")
        if term.isascii() and term.isdigit() and len(term) < 19:
            return queryset.filter(pk=int(term)), False
        rows = selectors.recent(queryset) if term else queryset
        return super().get_search_results(request, rows, search_term)

    def get_fieldsets(self, request: HttpRequest, obj: News | None = None) -> Any:
        return self.fieldsets if obj else self.fieldsets[:1]

    def get_readonly_fields(self, request: HttpRequest, obj: News | None = None) -> list[Any]:
        """All but what an editor may correct; the id by which imports know an article stays as it came."""
        shown = [name for _title, options in self.fieldsets[1:] for name in options["fields"]]
        return [*shown, *(["external_id"] if obj else [])]

    def view_on_site(self, news: News) -> str:
        return reverse("news_detail", args=[news.pk])

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        return deletion(objs, self.opts.verbose_name_plural)

    @admin.display(description=gettext_lazy("number"), ordering="pk")
    def number(self, news: News) -> int:
        return news.pk

    @admin.display(description=gettext_lazy("title"))
    def short_title(self, news: News) -> str:
        return shortened(news.title)

    @admin.display(description=gettext_lazy("cluster"))
    def in_cluster(self, news: News) -> SafeString | str:
        return page_link("cluster_detail", news.cluster_id, f"#{news.cluster_id}")

    @admin.display(description="SimHash")
    def fingerprint(self, news: News) -> str:
        return hex64(news.simhash_fp)

    @admin.action(description=gettext_lazy("Judge again"), permissions=["change"])
    def rejudge(self, request: HttpRequest, rows: QuerySet[News]) -> None:
        self.say(request, ingest.rejudge(self.chosen(request, rows)))

    @admin.action(description=gettext_lazy("Judge again those that failed"), permissions=["change"])
    def retry_failed(self, request: HttpRequest, rows: QuerySet[News]) -> None:
        self.say(request, ingest.rejudge(self.chosen(request, rows.filter(state=News.State.FAILED))))


@admin.register(NewsLink)
class NewsLinkAdmin(ReadOnlyAdmin):
    list_display = ("pair", "low_title", "high_title", "kind", "status", "marks", "points")
    list_filter = ("status", "kind", "locked", "text_changed", "unsure")
    list_select_related = ("low", "high")
    search_fields = ("=low__id", "=high__id")
    search_help_text = gettext_lazy("The number of an article")
    actions = ("confirm", "reject")

    def get_queryset(self, request: HttpRequest) -> QuerySet[NewsLink]:
        return super().get_queryset(request).defer("low__content", "high__content")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[NewsLink], search_term: str
    ) -> tuple[QuerySet[NewsLink], bool]:
        return super().get_search_results(request, queryset, search_term.replace("#", ""))

    @admin.display(description=gettext_lazy("relation"))
    def pair(self, link: NewsLink) -> str:
        return str(link)

    @admin.display(description=gettext_lazy("article"))
    def low_title(self, link: NewsLink) -> str:
        return shortened(link.low.title)

    @admin.display(description=gettext_lazy("article"))
    def high_title(self, link: NewsLink) -> str:
        return shortened(link.high.title)

    @admin.display(description=gettext_lazy("marks"))
    def marks(self, link: NewsLink) -> str:
        """In words: Django's red crosses would make each usual link look wrong."""
        named = (
            (link.locked, _("locked")),
            (link.text_changed, _("text changed since the verdict")),
            (link.unsure, _("unsure")),
        )
        return " · ".join(name for on, name in named if on)

    @admin.display(description=gettext_lazy("score"))
    def points(self, link: NewsLink) -> str:
        return score(link.score)

    @admin.action(description=gettext_lazy("Confirm as duplicates"), permissions=["judge"])
    def confirm(self, request: HttpRequest, rows: QuerySet[NewsLink]) -> None:
        self._judge(request, rows, review.DUPLICATE)

    @admin.action(description=gettext_lazy("Keep apart as different"), permissions=["judge"])
    def reject(self, request: HttpRequest, rows: QuerySet[NewsLink]) -> None:
        self._judge(request, rows, NewsLink.Kind.DIFFERENT)

    def _judge(self, request: HttpRequest, rows: QuerySet[NewsLink], verdict: str) -> None:
        self.say(request, *review.judge_links(self.chosen(request, rows), verdict, cast(User, request.user)))

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Both articles side by side, and the form by which a person overrides the verdict."""
        link = cast(NewsLink | None, self.get_object(request, unquote(object_id)))
        if not self.has_view_permission(request, link):
            raise PermissionDenied
        if link is None:
            return self._get_obj_does_not_exist_redirect(  # type: ignore[attr-defined]
                request, self.opts, object_id
            )
        form = OverrideForm(request.POST or None, initial={"seen": link.status}, label_suffix="")
        if request.method == "POST" and self._overridden(request, link, form):
            return HttpResponseRedirect(request.get_full_path())
        return TemplateResponse(
            request,
            "admin/articles/newslink/change_form.html",
            {
                **self.admin_site.each_context(request),
                **self._shown(request, link),
                "form": form,
                "may_judge": self.has_judge_permission(request),
            },
        )

    def _overridden(self, request: HttpRequest, link: NewsLink, form: OverrideForm) -> bool:
        if not self.has_judge_permission(request):
            raise PermissionDenied
        if not form.is_valid():
            return False
        given = form.cleaned_data
        try:
            review.judge_pair(
                link.low_id,
                link.high_id,
                given["verdict"],
                cast(User, request.user),
                given["note"],
                given["seen"],
            )
        except review.ReviewError as error:
            self.message_user(request, str(error), messages.ERROR)
            return True
        verdict = dict(OverrideForm.VERDICTS)[given["verdict"]]
        self.message_user(request, _("Recorded: %(decision)s") % {"decision": verdict}, messages.SUCCESS)
        return True

    def _shown(self, request: HttpRequest, link: NewsLink) -> dict[str, Any]:
        left, right = selectors.pair_of(link)
        options = comparison_options(request.GET)
        return {
            "title": _("Relation"),
            "subtitle": str(link),
            "opts": self.opts,
            "link": link,
            "options": options,
            "comparison": selectors.compare(left, right, **options),
            "decisions": selectors.pair_decisions(link),
            "is_popup": IS_POPUP_VAR in request.GET,
        }


@admin.register(NewsCluster)
class NewsClusterAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "lead_title", "size", "state", "lowest", "last_published", "reviewed_by")
    list_filter = ("state", "lead_locked")
    list_select_related = ("lead", "reviewed_by")
    search_fields = ("=id",)
    search_help_text = gettext_lazy("The number of a group")
    actions = ("confirm",)
    fields = (
        *("page", "lead", "lead_locked", "state", "size", "lowest_score", "weakest_link", "first_published"),
        *("last_published", "merged_into", "reviewed_by", "reviewed_at", "created_at", "changed_at"),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[NewsCluster]:
        return super().get_queryset(request).defer("lead__content")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[NewsCluster], search_term: str
    ) -> tuple[QuerySet[NewsCluster], bool]:
        return super().get_search_results(request, queryset, search_term.replace("#", ""))

    def view_on_site(self, cluster: NewsCluster) -> str:
        return reverse("cluster_detail", args=[cluster.pk])

    @admin.display(description=gettext_lazy("page"))
    def page(self, cluster: NewsCluster) -> SafeString | str:
        return page_link("cluster_detail", cluster.pk, _("Articles side by side"))

    @admin.display(description=gettext_lazy("lead"))
    def lead_title(self, cluster: NewsCluster) -> str:
        return shortened(cluster.lead.title) if cluster.lead else "–"

    @admin.display(description=gettext_lazy("lowest score"), ordering="lowest_score")
    def lowest(self, cluster: NewsCluster) -> str:
        return score(cluster.lowest_score)

    @admin.action(description=gettext_lazy("Confirm whole groups"), permissions=["judge"])
    def confirm(self, request: HttpRequest, rows: QuerySet[NewsCluster]) -> None:
        self.say(request, *review.confirm_clusters(self.chosen(request, rows), cast(User, request.user)))


@admin.register(NewsDecision)
class NewsDecisionAdmin(ReadOnlyAdmin):
    list_display = ("created_at", "actor", "action", "verdict", "one_title", "other_title", "note")
    list_filter = ("action", "verdict")
    list_select_related = ("actor",)
    search_fields = ("=actor__username",)
    search_help_text = gettext_lazy("The user name of who decided")
    fields = (
        *("created_at", "actor", "action", "verdict", "note", "left", "right"),
        *("cluster", "undoes", "before", "after"),
    )

    @admin.display(description=gettext_lazy("article"))
    def one_title(self, decision: NewsDecision) -> str:
        return shortened(decision.left_title) if decision.left_title else "–"

    @admin.display(description=gettext_lazy("article"))
    def other_title(self, decision: NewsDecision) -> str:
        return shortened(decision.right_title) if decision.right_title else "–"


@admin.register(NewsPassage)
class NewsPassageAdmin(ReadOnlyAdmin):
    """Furniture: what was learnt applies by itself; a chief approves it, or makes it count as text again."""

    list_display = ("passage", "source", "articles", "state", "decided_by", "created_at")
    list_filter = ("state",)
    list_select_related = ("decided_by",)
    search_fields = ("text",)
    actions = ("approve", "reject")
    fields = ("text", "source", "articles", "places", "state", "decided_by", "created_at")

    def has_decide_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("articles.change_newspassage")

    @admin.display(description=gettext_lazy("passage"))
    def passage(self, passage: NewsPassage) -> str:
        return Truncator(passage.text).chars(PASSAGE_SHOWN)

    @admin.display(description=gettext_lazy("where it occurs"))
    def places(self, passage: NewsPassage) -> SafeString | str:
        rows = (
            News.objects.filter(pk__in=passage.examples).order_by("pk").values_list("pk", "title", "source")
        )
        links = [(page_link("news_detail", pk, shortened(title)), source) for pk, title, source in rows]
        return format_html_join("", "<div>{} {}</div>", links) or "–"

    @admin.action(description=gettext_lazy("Approve: no part of any story"), permissions=["decide"])
    def approve(self, request: HttpRequest, rows: QuerySet[NewsPassage]) -> None:
        self._decide(request, rows, approve=True)

    @admin.action(description=gettext_lazy("Reject: it counts as text again"), permissions=["decide"])
    def reject(self, request: HttpRequest, rows: QuerySet[NewsPassage]) -> None:
        self._decide(request, rows, approve=False)

    def _decide(self, request: HttpRequest, rows: QuerySet[NewsPassage], approve: bool) -> None:
        chosen, actor = self.chosen(request, rows), cast(User, request.user)
        self.say(request, furniture.decide(chosen, approve=approve, actor=actor))


@admin.register(Upload)
class UploadAdmin(ReadOnlyAdmin):
    list_display = ("name", "user", "created_at", "state", "added", "updated", "unchanged", "rejected")
    list_filter = ("state",)
    list_select_related = ("user",)
    search_fields = ("name",)
    actions = ("retry",)
    fields = (
        *("page", "name", "source", "user", "created_at", "finished_at", "state", "wrong", "rows"),
        *("added", "updated", "unchanged", "rejected"),
    )

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return request.user.has_perm("articles.delete_upload")

    def delete_model(self, request: HttpRequest, obj: Upload) -> None:
        uploads.remove([obj.pk])

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Upload]) -> None:
        uploads.remove(queryset.values_list("pk", flat=True))

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        return deletion(objs, self.opts.verbose_name_plural)

    def view_on_site(self, upload: Upload) -> str:
        return reverse("upload_detail", args=[upload.pk])

    @admin.display(description=gettext_lazy("page"))
    def page(self, upload: Upload) -> SafeString | str:
        return page_link("upload_detail", upload.pk, _("Progress and result"))

    @admin.display(description=gettext_lazy("error"))
    def wrong(self, upload: Upload) -> str:
        return uploads.problem_text(upload) or "–"

    @admin.action(description=gettext_lazy("Read again those that failed"), permissions=["upload"])
    def retry(self, request: HttpRequest, rows: QuerySet[Upload]) -> None:
        self.say(request, sum(map(uploads.retry, self.chosen(request, rows))))


# --- Users ------------------------------------------------------------------------------------------------

OWN_RIGHTS = ("is_superuser", "user_permissions")
"""What only a superuser gives: an administrator gives roles, and could else give himself everything."""

admin.site.unregister(User)


@admin.register(User)
class UserAdmin(DjangoUserAdmin):
    def get_fieldsets(self, request: HttpRequest, obj: User | None = None) -> Any:
        fieldsets = super().get_fieldsets(request, obj)
        if request.user.is_superuser:
            return fieldsets
        return [(title, {**options, "fields": _without(options["fields"])}) for title, options in fieldsets]

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """A superuser's account, and with it his password, is changed by superusers alone."""
        beyond = obj is not None and obj.is_superuser and not request.user.is_superuser
        return not beyond and super().has_change_permission(request, obj)


def _without(fields: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(name for name in fields if name not in OWN_RIGHTS)
