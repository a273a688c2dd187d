"""The review desk: the queue, the item that is open, and what the next key does with it."""

from typing import Any, cast
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from articles import desk as reads
from articles import selectors
from articles.forms import QueueFilter, comparison_options
from articles.models import ReviewItem
from articles.services import queue
from articles.views.pages import beside, may, verdict_buttons

# What an address says beside the filter: which item, where in the queue, which sides, and whether to go on.
PLACE = ("item", "after", "left", "right", "on")


@never_cache
@require_safe
@may("view_newslink")
def desk(request: HttpRequest) -> HttpResponse:
    """An item beside the queue. Opening it shows others who has it."""
    context = _queue(request)
    item, key = context["item"], context["key"]
    options = comparison_options(request.GET)
    subject = reads.get_subject(key, _number(request, "left"), _number(request, "right"))
    comparison = None
    if subject and subject.right:
        comparison = selectors.compare(subject.left, subject.right, **options)
    before, after = None, None
    if subject and subject.cluster:
        before, after = beside(subject.groups[0].members, subject.left, subject.right)
    context |= {
        "member_before": before,
        "member_after": after,
        "subject": subject,
        "comparison": comparison,
        "options": options,
        "verdicts": verdict_buttons(),
        "sources": selectors.sources(),
        "search_rows": selectors.SEARCH_ROWS,
        **_neighbours(request, context["window"].rows, item),
        **_ways(request, item, key),
    }
    if item:
        # The toggles change this page's own address: without the item they would lead to whatever is on top.
        request.GET = _with_place(request, item)  # type: ignore[assignment]
    response = render(request, "articles/desk.html", context)
    if item:
        # So that the address names what is on the screen, and a bookmark or a reload shows it again.
        response["HX-Push-Url"] = _address(request, item=item.key, after=item.place)
    return response


@never_cache
@require_safe
@may("view_newslink")
def desk_queue(request: HttpRequest) -> HttpResponse:
    """The queue alone, as it is by now. Asking for it keeps the open item claimed."""
    return render(request, "articles/_desk_queue.html", _queue(request) | {"polled": True})


@require_safe
@may("view_newslink")
def desk_ahead(request: HttpRequest) -> HttpResponse:
    """The comparison of an item that is likely to be opened next; it claims nothing."""
    subject = reads.get_subject(request.GET.get("item", ""))
    options = comparison_options(request.GET)
    comparison = None
    if subject and subject.right:
        comparison = selectors.compare(subject.left, subject.right, **options)
    context = {"subject": subject, "comparison": comparison, "options": options}
    return render(request, "articles/_desk_pair.html", context)


def _queue(request: HttpRequest) -> dict[str, Any]:
    form = QueueFilter(request.GET)
    user = cast(User, request.user)
    rows = reads.waiting(**form.chosen, user=user)
    top = reads.top_of(rows)
    item, key = _opened(request, rows, top)
    if item and user.has_perm("articles.add_newsdecision"):
        queue.claim(item, user)
    counts = reads.count_by_kind()
    return {
        "form": form,
        "item": item,
        "key": key,
        "window": reads.window(rows, top, item),
        "count": reads.count(rows, top) if form.chosen else None,
        "counts": counts,
        "total": sum(counts.values()),
        "poll": _address(request, view="desk_queue", item=key, after=item.place if item else None),
    }


def _opened(
    request: HttpRequest, rows: QuerySet[ReviewItem], top: list[ReviewItem]
) -> tuple[ReviewItem | None, str]:
    """The item that the address asks for, else the next one that nobody has open; and its key."""
    keys = [key for key in request.GET.getlist("item") if reads.KEY.fullmatch(key)]
    for key in keys:
        if item := reads.find_item(key):
            return item, key
    if keys and not request.GET.get("on"):
        return None, keys[0]
    found = reads.first_free(rows, top, cast(User, request.user), request.GET.get("after", ""))
    return found, found.key if found else ""


def _neighbours(request: HttpRequest, rows: list[ReviewItem], item: ReviewItem | None) -> dict[str, Any]:
    """The items before and after the open one in the queue as it is shown."""
    place = rows.index(item) if item in rows else -1
    following = rows[place + 1] if place + 1 < len(rows) else None
    return {
        "preceding": rows[place - 1] if place > 0 else None,
        "following": following,
        "ahead": _address(request, view="desk_ahead", item=following.key) if following else "",
    }


def _ways(request: HttpRequest, item: ReviewItem | None, key: str) -> dict[str, Any]:
    """Where the forms lead: on to the next item, back here, and to what an undo has wait again."""
    place = item.place if item else request.GET.get("after")
    ways: dict[str, Any] = {
        "next": _address(request, after=place),
        # A group may wait on after a decision on two of its members.
        "stay": _address(request, item=key, after=place, on=1),
        "here": _address(request, item=key, after=place),
    }
    if decision := reads.last_decision(cast(User, request.user)):
        keys = [one for one in (reads.key_of(decision), key) if one]
        ways |= {"undoable": decision, "undone": _address(request, item=keys, after=place, on=1)}
    return ways


def _address(request: HttpRequest, view: str = "desk", **place: Any) -> str:
    """The address of the desk with this filter, at another place."""
    query = [(name, values) for name, values in request.GET.lists() if name not in PLACE and any(values)]
    query += [(name, value) for name, value in place.items() if value]
    return f"{reverse(view)}?{urlencode(query, doseq=True)}"


def _with_place(request: HttpRequest, item: ReviewItem) -> QueryDict:
    query = request.GET.copy()
    query.pop("on", None)
    query["item"], query["after"] = item.key, item.place
    return query


def _number(request: HttpRequest, name: str) -> int | None:
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
