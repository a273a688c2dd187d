"""The review desk: what waits and in which order, who has what open, where a decision leads."""

import re
from datetime import timedelta
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from articles import desk
from articles.models import News, NewsCluster, NewsDecision, NewsLink, ReviewItem
from articles.services import bulk, queue, review
from tests.views.factories import BODY, blocked_pair, make_cluster, make_link, make_news, make_user

DESK = "/desk/"
HOSTILE = '<script>document.title="taken"</script>'


def make_pair(title: str = "寒潮蓝色预警", score: float = 0.7, **fields) -> NewsLink:
    left = make_news(title, BODY, source=fields.pop("source", "江城日报"))
    right = make_news(f"【快讯】{title}", BODY.replace("八十六", "六十八"))
    link = make_link(left, right, **{"kind": "update", "status": "pending", "score": score, **fields})
    queue.refresh([left.pk, right.pk])
    return link


def make_group(size: int = 3) -> NewsCluster:
    cluster = make_cluster(size)
    queue.refresh(list(cluster.members.values_list("pk", flat=True)))
    return cluster


def shown(client, address: str = DESK) -> list[str]:
    return [row.key for row in client.get(address).context["window"].rows]


@pytest.fixture
def editor(as_role):
    return as_role("editor")


def test_what_the_machine_is_less_sure_of_comes_first(editor):
    sure, unsure = make_pair(score=0.95), make_pair(score=0.5)
    group = make_group(2)
    News.objects.all().update(published_at=timezone.now())
    queue.refresh(list(News.objects.values_list("pk", flat=True)))
    assert shown(editor)[0] == f"p{unsure.pk}"
    assert set(shown(editor)) == {f"p{unsure.pk}", f"p{sure.pk}", f"c{group.pk}"}


MEANT = {"kind": "related", "reasons": [{"code": "same_event_likely", "score": 0.951, "model": "a-model"}]}


def test_what_is_alike_in_meaning_alone_comes_last(editor):
    meant, update = make_pair(score=0.95, **MEANT), make_pair(score=0.95)
    News.objects.all().update(published_at=timezone.now())
    queue.refresh(list(News.objects.values_list("pk", flat=True)))
    assert shown(editor) == [f"p{update.pk}", f"p{meant.pk}"]


@pytest.mark.parametrize("where", ["desk", "article", "why"])
def test_suggestion_by_meaning_says_its_cosine_and_that_it_is_no_likeness_of_texts(editor, where):
    link = make_pair(score=0.951, hamming=None, containment_low=0, containment_high=0, **MEANT)
    address = {
        "desk": DESK,
        "article": reverse("news_detail", args=[link.low_id]),
        "why": f"{reverse('why')}?left={link.low_id}&right={link.high_id}",
    }[where]
    page = editor.get(address).content.decode()
    assert "同事件建议" in page
    assert "0.951" in page
    assert "a-model" not in page
    if where != "why":
        assert "意思相近（余弦 0.951）" in page
        assert "相似度" not in page
    if where != "article":
        assert re.search(r"建议：\s*同事件不同稿", page)


def test_two_headlines_without_a_text_are_not_said_to_be_equal(editor):
    left, right = make_news("寒潮蓝色预警今早发布", ""), make_news("寒潮蓝色预警今早解除", "")
    page = editor.get(f"{reverse('why')}?left={left.pk}&right={right.pk}").content.decode()
    assert "两篇都只有标题，没有正文" in page
    assert "两文相同" not in page


@pytest.mark.parametrize("address", [DESK, "/desk/queue/"])
def test_one_and_three_items_cost_the_same(editor, address):
    make_pair()
    one = queries(editor, address)
    make_pair()
    make_pair()
    assert queries(editor, address) == one


def test_small_and_large_groups_cost_the_same(editor):
    small, large = make_group(2), make_group(6)
    costs = {queries(editor, f"{DESK}?item=c{cluster.pk}") for cluster in (small, large)}
    assert len(costs) == 1


def queries(client, address: str) -> int:
    client.get(address)  # The first answer claims the item and fills caches.
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code == 200
    return len(captured)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("kind=update", "ab"),
        ("kind=cluster", "c"),
        ("source=北岸新闻网", "b"),
        ("lowest=0.6", "ac"),
        ("highest=0.6", "b"),
        ("size=3", "c"),
        ("q=台风", "a"),
        ("q=没有", ""),
        ("mine=on", ""),
        ("since=2030-01-01", ""),
        ("kind=nonsense", "abc"),
        ("lowest=x", "abc"),
        ("after=nan_1", "abc"),
        ("after=1e999_-5", "abc"),
    ],
)
def test_filters(viewer, query, found):
    names = {
        "a": f"p{make_pair('台风登陆', 0.8).pk}",
        "b": f"p{make_pair('寒潮', 0.4, source='北岸新闻网').pk}",
        "c": f"c{make_group().pk}",
    }
    assert set(shown(viewer, f"{DESK}?{query}")) == {names[name] for name in found}


def test_counts_by_kind_and_what_is_left(viewer):
    make_pair()
    make_pair(kind="excerpt")
    make_group()
    context = viewer.get(f"{DESK}?kind=update").context
    assert context["counts"] == {"cluster": 1, "excerpt": 1, "update": 1}
    assert context["total"] == 3
    assert context["count"].number == 1


def test_a_verdict_leads_to_the_next_item_and_undo_back(editor):
    first, second = make_pair(score=0.5), make_pair(score=0.9)
    page = editor.get(DESK)
    assert page.context["key"] == f"p{first.pk}"
    verdict = {"verdict": "duplicate", "seen": "pending", "next": page.context["next"]}
    page = editor.post(reverse("judge_pair", args=[first.low_id, first.high_id]), verdict, follow=True)
    assert page.context["key"] == f"p{second.pk}"
    assert "已记录：转载" in page.content.decode()
    decision = page.context["undoable"]
    page = editor.post(reverse("undo", args=[decision.pk]), {"next": page.context["undone"]}, follow=True)
    assert page.context["key"] == f"p{first.pk}"
    assert page.context["item"]


def test_what_could_not_be_told_comes_last(editor):
    first, second = make_pair(score=0.5), make_pair(score=0.9)
    page = editor.get(DESK)
    verdict = {"verdict": "unsure", "seen": "pending", "next": page.context["next"]}
    page = editor.post(reverse("judge_pair", args=[first.low_id, first.high_id]), verdict, follow=True)
    assert page.context["key"] == f"p{second.pk}"
    assert shown(editor) == [f"p{second.pk}", f"p{first.pk}"]


def test_a_group_is_confirmed_as_a_whole(editor):
    cluster, pair = make_group(), make_pair()
    page = editor.get(f"{DESK}?item=c{cluster.pk}")
    assert page.context["comparison"].left.pk == cluster.lead_id
    assert f'formaction="{reverse("confirm_cluster", args=[cluster.pk])}"' in page.content.decode()
    form = {"next": page.context["stay"]}
    page = editor.post(reverse("confirm_cluster", args=[cluster.pk]), form, follow=True)
    assert page.context["key"] == f"p{pair.pk}"
    assert not ReviewItem.objects.filter(cluster=cluster).exists()


def test_a_group_stays_open_after_one_of_it_was_removed(editor):
    cluster = make_group(3)
    other = cluster.members.exclude(pk=cluster.lead_id).first()
    page = editor.get(f"{DESK}?item=c{cluster.pk}&right={other.pk}")
    form = {"next": page.context["stay"]}
    page = editor.post(reverse("remove_member", args=[cluster.pk, other.pk]), form, follow=True)
    assert page.context["key"] == f"c{cluster.pk}"
    assert other not in page.context["subject"].groups[0].members


def test_a_group_shows_its_lead_beside_its_least_similar_member(viewer):
    cluster = make_group(4)
    odd = NewsLink.objects.filter(low=cluster.lead_id).order_by("-pk").first()
    NewsLink.objects.filter(pk=odd.pk).update(score=0.6)
    comparison = viewer.get(f"{DESK}?item=c{cluster.pk}").context["comparison"]
    assert (comparison.left.pk, comparison.right.pk) == (cluster.lead_id, odd.high_id)


def test_two_editors_get_different_items_and_see_each_other(as_role):
    make_pair(score=0.5), make_pair(score=0.9)
    first, second = as_role("editor"), as_role("editor")
    one = first.get(DESK).context["key"]
    page = second.get(DESK)
    assert page.context["key"] != one
    assert "正在看" in page.content.decode()
    page = second.get(f"{DESK}?item={one}")
    assert "也在看这一条" in page.content.decode()
    ReviewItem.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
    assert second.get(DESK).context["key"] == one


def test_a_claim_is_kept_by_polling_and_given_back_by_moving_on(editor, as_role):
    first, second = make_pair(score=0.5), make_pair(score=0.9)
    editor.get(DESK)
    ReviewItem.objects.update(claimed_until=timezone.now() + timedelta(seconds=5))
    editor.get(f"/desk/queue/?item=p{first.pk}")
    soon = timezone.now() + timedelta(minutes=2)
    assert ReviewItem.objects.filter(link=first, claimed_until__gt=soon).exists()
    editor.get(f"{DESK}?item=p{second.pk}")
    assert ReviewItem.objects.get(link=first).claimed_by is None
    assert shown(editor, f"{DESK}?mine=on") == [f"p{second.pk}"]


def test_looking_ahead_or_only_reading_claims_nothing(editor, viewer):
    link = make_pair()
    viewer.get(DESK)
    page = editor.get(f"/desk/ahead/?item=p{link.pk}")
    assert 'class="compare"' in page.content.decode()
    assert ReviewItem.objects.get().claimed_by is None


def test_the_second_verdict_is_refused_and_says_what_changed(as_role):
    link, _ = make_pair(score=0.5), make_pair(score=0.9)
    first, second = as_role("editor"), as_role("editor")
    address = reverse("judge_pair", args=[link.low_id, link.high_id])
    page = second.get(f"{DESK}?item=p{link.pk}")
    first.post(address, {"verdict": "duplicate", "seen": "pending"})
    form = {"verdict": "different", "seen": "pending"}
    form |= {"next": page.context["next"], "here": page.context["here"]}
    page = second.post(address, form, follow=True)
    text = page.content.decode()
    assert "再看一遍" in text
    assert page.context["key"] == f"p{link.pk}"
    assert "不再等待" in text and "editor-" in text
    assert NewsDecision.objects.count() == 1


def test_a_group_that_changed_meanwhile_is_not_confirmed(editor):
    cluster = make_group()
    page = editor.get(f"{DESK}?item=c{cluster.pk}")
    NewsCluster.objects.filter(pk=cluster.pk).update(changed_at=timezone.now())
    form = {"next": page.context["stay"], "here": page.context["here"]}
    form["seen_at"] = page.context["subject"].cluster.changed_at.isoformat()
    page = editor.post(reverse("confirm_cluster", args=[cluster.pk]), form, follow=True)
    assert page.context["key"] == f"c{cluster.pk}"
    assert 'class="error"' in page.content.decode()
    form["seen_at"] = page.context["subject"].cluster.changed_at.isoformat()
    editor.post(reverse("confirm_cluster", args=[cluster.pk]), form)
    assert not ReviewItem.objects.exists()


def test_the_poll_tells_that_the_open_item_was_decided(as_role):
    link = make_pair()
    first, second = as_role("editor"), as_role("editor")
    second.get(DESK)
    first.post(
        reverse("judge_pair", args=[link.low_id, link.high_id]), {"verdict": "duplicate", "seen": "pending"}
    )
    text = second.get(f"/desk/queue/?item=p{link.pk}").content.decode()
    assert 'id="state"' in text
    assert "不再等待" in text


def test_a_pair_kept_apart_that_blocks_a_merge_is_named(viewer):
    left, right = make_cluster(2), make_cluster(2)
    one, other = left.members.first(), right.members.first()
    make_link(one, other, kind="different", status="rejected", locked=True)
    link = make_link(left.lead, right.lead, status="pending")
    queue.refresh([link.low_id, link.high_id])
    text = viewer.get(f"{DESK}?item=p{link.pk}").content.decode()
    assert "不会并成一群" in text


def test_a_duplicate_that_could_not_join_its_groups_says_why(editor):
    link = blocked_pair()
    address = reverse("judge_pair", args=[link.low_id, link.high_id])
    given = {"verdict": "duplicate", "seen": "pending", "next": DESK}
    text = editor.post(address, given, follow=True).content.decode()
    assert "已记录：转载" in text
    assert "两群中有 1 篇没有并入。 有人判定" in text
    other = make_pair(kind="update")
    address = reverse("judge_pair", args=[other.low_id, other.high_id])
    assert "没有并入" not in editor.post(address, given, follow=True).content.decode()


def test_undo_takes_back_what_was_done_last_be_it_one_or_many(editor):
    user = User.objects.get(username__startswith="editor")
    first, *others = (make_pair(kind="update") for _ in range(3))
    review.judge_pair(first.low_id, first.high_id, "update", user)
    run = bulk.apply_bulk("pairs", [link.pk for link in others], "update", bulk.Keeper(), user)
    text = editor.get(DESK).content.decode()
    assert reverse("bulk_undo", args=[run.pk]) in text
    assert "撤销批量 2 条" in text
    editor.post(reverse("bulk_undo", args=[run.pk]))
    text = editor.get(DESK).content.decode()
    assert "撤销批量" not in text
    assert reverse("undo", args=[NewsDecision.objects.get(left=first.low_id).pk]) in text


def test_everything_on_groups_is_at_hand(editor):
    """By forms and links, whose keys the browser tests press."""
    cluster = make_group(3)
    text = editor.get(f"{DESK}?item=c{cluster.pk}").content.decode()
    here = quote(editor.get(f"{DESK}?item=c{cluster.pk}").context["here"], safe="")
    assert f"{reverse('cluster_split', args=[cluster.pk])}?next={here}" in text
    assert f"{reverse('news_link', args=[cluster.lead_id])}?next={here}" in text
    right = editor.get(f"{DESK}?item=c{cluster.pk}").context["comparison"].right.pk
    for name, of in (("confirm_cluster", []), ("set_lead", [right]), ("remove_member", [right])):
        assert f'formaction="{reverse(name, args=[cluster.pk, *of])}"' in text
    link = blocked_pair()
    text = editor.get(f"{DESK}?item=p{link.pk}").content.decode()
    assert f'formaction="{reverse("merge_clusters", args=[link.low.cluster_id])}"' in text


def test_after_splitting_or_merging_the_desk_is_there_again(editor):
    cluster = make_group(3)
    address = f"{DESK}?item=c{cluster.pk}&kind=cluster"
    leaving = cluster.members.order_by("pk").last().pk
    sent = {"news": leaving, "next": address}
    assert editor.post(reverse("cluster_split", args=[cluster.pk]), sent).url == address
    other = make_group(2)
    sent = {"other": other.pk, "next": address}
    assert editor.post(reverse("merge_clusters", args=[cluster.pk]), sent).url == address
    sent["next"] = "https://evil.example/"
    assert "evil" not in editor.post(reverse("merge_clusters", args=[cluster.pk]), sent).url
    assert editor.get(reverse("news_link", args=[leaving]), {"next": sent["next"]}).context["back"] == ""


def test_a_toggle_stays_with_the_item(editor):
    link = make_pair()
    text = editor.get(DESK).content.decode()
    toggles = re.findall(r'class="toggle"[^>]*href="([^"]*)"', text)
    assert len(toggles) == 3
    assert all(f"item=p{link.pk}" in address for address in toggles)
    make_pair(score=0.5)  # More urgent.
    assert editor.get(DESK + toggles[0].replace("&amp;", "&")).context["key"] == f"p{link.pk}"


def test_empty_and_filtered_to_nothing(viewer):
    assert "全部处理完了" in viewer.get(DESK).content.decode()
    make_pair()
    assert "没有符合" in viewer.get(f"{DESK}?q=没有").content.decode()


@pytest.mark.parametrize("item", ["p999", "c999", "x", "p", "p99999999999999999999", "-1"])
def test_an_address_of_something_gone(viewer, item):
    assert viewer.get(f"{DESK}?item={item}").status_code == 200


def test_a_long_queue_is_shown_around_the_open_item(viewer, monkeypatch):
    monkeypatch.setattr(desk, "SHOWN", 3)
    monkeypatch.setattr(desk, "SHOWN_BEFORE", 1)
    keys = [f"p{make_pair(score=0.5 + number / 20).pk}" for number in range(8)]
    queued = [item.key for item in ReviewItem.objects.order_by("-priority", "-id")]
    assert set(queued) == set(keys)
    assert shown(viewer) == queued[:3]
    page = viewer.get(f"{DESK}?item={queued[5]}")
    assert [row.key for row in page.context["window"].rows] == queued[4:8]
    after = viewer.get(DESK).context["window"].after
    assert viewer.get(f"{DESK}?after={after}").context["key"] == queued[3]


def test_hostile_titles_sources_and_names_are_text(as_role):
    make_pair(HOSTILE, source=HOSTILE)
    user = make_user("editor", username="e", first_name=HOSTILE)
    queue.claim(ReviewItem.objects.get(), user)
    text = as_role("editor").get(f"{DESK}?item={ReviewItem.objects.get().key}&q=<script>").content.decode()
    assert HOSTILE not in text
    assert "&lt;script&gt;" in text


def test_in_english(as_role):
    make_pair()
    text = as_role("editor", "en").get(DESK).content.decode()
    assert "Review desk" in text
    assert "审稿台" not in text


def test_who_may_only_read_gets_no_buttons(viewer):
    make_pair()
    text = viewer.get(DESK).content.decode()
    assert 'name="verdict"' not in text
    assert "data-decide" not in text
