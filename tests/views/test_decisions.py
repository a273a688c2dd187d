"""Deciding through the pages: what is written, where the person comes back to, what is said."""

import pytest
from django.urls import reverse

from articles.models import NewsCluster, NewsDecision, NewsLink
from tests.views.factories import make_cluster


@pytest.fixture
def editor(as_role):
    return as_role("editor")


@pytest.fixture
def cluster(db) -> NewsCluster:
    return make_cluster(3)


def members(cluster: NewsCluster) -> list[int]:
    return list(cluster.members.order_by("pk").values_list("pk", flat=True))


def address(cluster: NewsCluster) -> str:
    return reverse("cluster_detail", args=[cluster.pk])


def judge(client, cluster, verdict: str, **given: str):
    lead, other, _ = members(cluster)
    form = {"verdict": verdict, "seen": "auto", "next": address(cluster), "cluster": cluster.pk, **given}
    return client.post(reverse("judge_pair", args=[lead, other]), form, follow=True)


def test_a_verdict_locks_the_pair_and_can_be_undone(editor, cluster):
    lead, other, _ = members(cluster)
    before = NewsLink.objects.values().get(low=lead, high=other)
    response = judge(editor, cluster, "different", note="两家各写各的")
    assert "已记录：不同" in response.content.decode()
    link = NewsLink.objects.get(low=lead, high=other)
    assert (link.kind, link.status, link.locked) == ("different", "rejected", True)
    decision = NewsDecision.objects.get()
    assert (decision.verdict, decision.note) == ("different", "两家各写各的")
    response = editor.post(reverse("undo", args=[decision.pk]), {"next": address(cluster)}, follow=True)
    assert "已撤销" in response.content.decode()
    assert NewsLink.objects.values().get(low=lead, high=other) == before


@pytest.mark.parametrize("verdict", ["duplicate", "update", "excerpt", "same_event", "template", "unsure"])
def test_every_verdict(editor, cluster, verdict):
    assert "已记录" in judge(editor, cluster, verdict).content.decode()
    assert NewsDecision.objects.get().verdict == verdict


def test_what_changed_meanwhile_is_not_overwritten(editor, cluster):
    response = judge(editor, cluster, "update", seen="rejected")
    assert "再看一遍" in response.content.decode()
    assert not NewsDecision.objects.exists()


@pytest.mark.parametrize("verdict", ["", "nonsense"])
def test_a_verdict_that_is_none_changes_nothing(editor, cluster, verdict):
    response = judge(editor, cluster, verdict)
    assert 'class="error"' in response.content.decode()
    assert not NewsDecision.objects.exists()


def test_a_group_that_is_gone_is_no_place_to_return_to(editor):
    cluster = make_cluster(2)
    lead, other = members(cluster)
    form = {"verdict": "different", "seen": "auto", "next": address(cluster), "cluster": cluster.pk}
    response = editor.post(reverse("judge_pair", args=[lead, other]), form, follow=True)
    assert response.redirect_chain[-1][0] == reverse("news_detail", args=[lead])
    assert "撤销" in response.content.decode()


def test_a_decision_leads_to_no_other_site(editor, cluster):
    form = {"next": "https://evil.example/"}
    response = editor.post(reverse("confirm_cluster", args=[cluster.pk]), form)
    assert response.url == reverse("cluster_list")


def test_confirming_choosing_a_lead_removing(editor, cluster):
    lead, other, last = members(cluster)
    form = {"next": address(cluster), "cluster": cluster.pk}
    editor.post(reverse("set_lead", args=[cluster.pk, other]), form)
    editor.post(reverse("remove_member", args=[cluster.pk, last]), form)
    editor.post(reverse("confirm_cluster", args=[cluster.pk]), form)
    cluster.refresh_from_db()
    assert (cluster.lead_id, cluster.state, members(cluster)) == (other, "reviewed", [lead, other])
    assert [row.action for row in NewsDecision.objects.order_by("pk")] == ["lead", "remove", "confirm"]


def test_the_suggestion_is_the_button_under_enter(editor, cluster):
    shown = editor.get(address(cluster)).content.decode()
    assert 'value="duplicate" class="main" aria-keyshortcuts="d Enter"' in shown
    assert shown.count('class="main"') == 1


def test_who_may_only_read_sees_no_buttons(viewer, cluster):
    shown = viewer.get(address(cluster)).content.decode()
    assert "judge" not in shown
    assert 'name="verdict"' not in shown
