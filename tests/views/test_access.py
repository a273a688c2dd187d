"""Who may see what: every address, every role, and strangers."""

from itertools import pairwise
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import get_resolver, reverse

from articles.models import BulkRun, NewsCluster, SchemeComparison, Upload
from articles.services import uploads
from tests.views.factories import NOON, make_cluster, make_decision

EMPTY: dict[str, dict[str, object]] = {"links": {}, "clusters": {}}

ROLES = ("viewer", "editor", "chief", "administrator")
OPEN, LOGIN, FORBIDDEN, MOVED = 200, "login", 403, 302
ALL = dict.fromkeys(ROLES, OPEN)
# name -> (method, what a stranger, a user without a role and each role gets)
READERS = ("get", {"stranger": LOGIN, "nobody": FORBIDDEN, **ALL})
EVERYBODY = {"stranger": MOVED, "nobody": MOVED, **dict.fromkeys(ROLES, MOVED)}
EDITORS = ("post", {**EVERYBODY, "stranger": LOGIN, "nobody": FORBIDDEN, "viewer": FORBIDDEN})
REVIEWERS = ("get", {"stranger": LOGIN, "nobody": FORBIDDEN, **ALL, "viewer": FORBIDDEN})
CHIEFS = {"stranger": LOGIN, "nobody": FORBIDDEN, **ALL, "viewer": FORBIDDEN, "editor": FORBIDDEN}
TABLE: dict[str, tuple[str, dict[str, Any]]] = {
    "home": ("get", {**EVERYBODY, "stranger": LOGIN}),
    "desk": READERS,
    "desk_queue": READERS,
    "desk_ahead": READERS,
    "news_list": READERS,
    "news_detail": READERS,
    "cluster_list": READERS,
    "cluster_detail": READERS,
    "cluster_story": READERS,
    "cluster_story_chart": READERS,
    "why": READERS,
    "similar": READERS,
    "similar_text": ("post", {**READERS[1]}),
    "judge_pair": EDITORS,
    "confirm_cluster": EDITORS,
    "remove_member": EDITORS,
    "set_lead": EDITORS,
    "undo": EDITORS,
    "pair_list": READERS,
    "cluster_split": REVIEWERS,
    "merge_clusters": EDITORS,
    "news_link": REVIEWERS,
    "bulk_list": REVIEWERS,
    # Without a selection it leads back to the list.
    "bulk_preview": ("get", {who: MOVED if got == OPEN else got for who, got in REVIEWERS[1].items()}),
    "bulk_apply": EDITORS,
    "bulk_detail": REVIEWERS,
    "bulk_undo": EDITORS,
    "upload_list": READERS,
    "upload_detail": READERS,
    "upload_create": ("post", {"stranger": LOGIN, "nobody": FORBIDDEN, **ALL, "viewer": FORBIDDEN}),
    "upload_rejects": ("get", {"stranger": LOGIN, "nobody": FORBIDDEN, **ALL, "viewer": FORBIDDEN}),
    "upload_retry": EDITORS,
    "schemes": ("get", CHIEFS),
    "schemes_create": ("post", CHIEFS),
    "schemes_detail": ("get", CHIEFS),
    "schemes_chart": ("get", CHIEFS),
    "schemes_file": ("get", CHIEFS),
    "dashboard": READERS,
    "dashboard_audit": READERS,
    "dashboard_chart": READERS,
    "theme": ("post", EVERYBODY),
    "set_language": ("post", EVERYBODY),
    "login": ("get", {**EVERYBODY, "stranger": OPEN}),
    "logout": ("post", {**EVERYBODY, "stranger": LOGIN}),
}
CASES = [(name, who) for name, (_, expected) in TABLE.items() for who in expected]


@pytest.fixture(autouse=True)
def _own_folder(settings, tmp_path):
    settings.VAR_DIR = tmp_path


def an_upload() -> Upload:
    """One that was read, and some of whose rows were rejected."""
    upload = Upload.objects.create(name="a.csv", stored="a.csv", state="done", rejected=1)
    file = uploads.file_path("a.rejects.csv")
    file.parent.mkdir(exist_ok=True)
    file.write_text("row,field,reason,remedy\n")
    return upload


def a_comparison() -> SchemeComparison:
    """One that is done, of no scheme."""
    results: dict[str, Any] = {"articles": 0, "pairs": 0, "labels": {}, "schemes": []}
    return SchemeComparison.objects.create(name="a.csv", pairs_name="p.csv", state="done", results=results)


def arguments(name: str, cluster: NewsCluster) -> list[Any]:
    if name in ("upload_detail", "upload_rejects", "upload_retry"):
        return [an_upload().pk]
    if name in ("schemes_detail", "schemes_chart", "schemes_file"):
        extra = {"schemes_chart": ["quality"], "schemes_file": ["csv"]}
        return [a_comparison().pk, *extra.get(name, [])]
    lead, other = cluster.members.order_by("pk").values_list("pk", flat=True)
    if name in ("bulk_detail", "bulk_undo"):
        return [BulkRun.objects.create(subject="clusters", action="confirm", seen_at=NOON, state="undone").pk]
    known: dict[str, list[Any]] = {
        "news_detail": [lead],
        "news_link": [lead],
        "cluster_split": [cluster.pk],
        "merge_clusters": [cluster.pk],
        "cluster_detail": [cluster.pk],
        "cluster_story": [cluster.pk],
        "cluster_story_chart": [cluster.pk],
        "dashboard_chart": ["intake"],
        "judge_pair": [lead, other],
        "confirm_cluster": [cluster.pk],
        "remove_member": [cluster.pk, other],
        "set_lead": [cluster.pk, other],
        "undo": [make_decision(cluster, before=EMPTY, after=EMPTY).pk],
    }
    return known.get(name, [])


def own_names() -> set[str]:
    """The names of all our addresses; the admin has its own rules."""
    return {name for name in get_resolver().reverse_dict if isinstance(name, str)}


def test_the_table_is_complete():
    assert own_names() == set(TABLE)


@pytest.mark.parametrize(("name", "who"), CASES)
def test_access(as_role, name, who):
    cluster = make_cluster()
    address = reverse(name, args=arguments(name, cluster))
    client = Client() if who == "stranger" else as_role("" if who == "nobody" else who)
    method, expected = TABLE[name]
    response = getattr(client, method)(address)
    if expected[who] == LOGIN:
        assert response.status_code == 302
        assert response.url.startswith(reverse("login"))
    else:
        assert response.status_code == expected[who]


@pytest.mark.parametrize("name", [name for name, (method, _) in TABLE.items() if method == "post"])
def test_what_changes_something_takes_no_links(as_role, name):
    address = reverse(name, args=arguments(name, make_cluster()))
    # Django's set_language answers a GET by going back, changing nothing.
    assert as_role("administrator").get(address).status_code == (302 if name == "set_language" else 405)


@pytest.mark.parametrize("name", [name for name, row in TABLE.items() if row is READERS])
def test_pages_that_only_read_take_no_posts(viewer, name):
    assert viewer.post(reverse(name, args=arguments(name, make_cluster()))).status_code == 405


@pytest.mark.django_db
def test_each_role_may_do_what_the_one_before_it_may():
    groups = [Group.objects.get(name=role) for role in ROLES]
    rights = [set(group.permissions.values_list("codename", flat=True)) for group in groups]
    assert all(lower < higher for lower, higher in pairwise(rights))
    assert all(right.startswith("view_") for right in rights[0])


def test_a_form_from_elsewhere_is_refused(db):
    client = Client(enforce_csrf_checks=True)
    response = client.post(reverse("login"), {"username": "x", "password": "y"})
    assert response.status_code == 403
    assert "表单已过期" in response.content.decode()
