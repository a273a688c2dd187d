"""What waits for a person follows from links and clusters, however these came to be."""

from datetime import UTC, datetime, timedelta
from importlib import import_module
from itertools import combinations

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from articles.models import News, NewsCluster, NewsLink, ReviewItem
from articles.models.waiting import PRIORITY_ABOVE, PRIORITY_BELOW, QUEUE_START
from articles.services import clustering, queue, review
from tests.stories import BODY, NOON, article, run

pytestmark = [pytest.mark.database, pytest.mark.django_db]

# A report of what came later is no copy: a person decides.
UPDATE = BODY.replace("一百六十个", "一百九十个")


@pytest.fixture
def editor() -> User:
    return User.objects.create_user("zhouqing")


@pytest.fixture
def pair() -> NewsLink:
    run(article("a"), article("b", content=UPDATE, published_at=NOON + timedelta(hours=1)))
    return NewsLink.objects.get(status="pending")


def keys() -> list[str]:
    return [item.key for item in ReviewItem.objects.all()]


def test_a_pending_pair_waits_and_a_verdict_ends_it_and_undo_brings_it_back(pair: NewsLink, editor: User):
    item = ReviewItem.objects.get()
    assert (item.link, item.kind, item.size, item.source) == (pair, pair.kind, 2, "a")
    assert (item.lead.external_id, item.other.external_id) == ("a", "b")
    assert item.published == NOON + timedelta(hours=1)
    decision = review.judge_pair(pair.low_id, pair.high_id, "different", editor)
    assert keys() == []
    review.undo(decision.pk, editor)
    assert keys() == [f"p{pair.pk}"]


def test_a_pair_declared_duplicate_needs_no_second_look_until_the_machine_adds_to_it(
    pair: NewsLink, editor: User
):
    review.judge_pair(pair.low_id, pair.high_id, "duplicate", editor)
    assert keys() == []
    run(article("c", content=UPDATE, published_at=NOON + timedelta(hours=2)))
    assert keys() == [f"c{NewsCluster.objects.get().pk}"]


def test_a_cluster_waits_until_it_is_confirmed(editor: User):
    run(article("a"), article("b", published_at=NOON + timedelta(hours=1)))
    cluster = NewsCluster.objects.get()
    assert keys() == [f"c{cluster.pk}"]
    decision = review.confirm_cluster(cluster.pk, editor)
    assert keys() == []
    review.undo(decision.pk, editor)
    assert keys() == [f"c{cluster.pk}"]


def test_what_a_reviewed_cluster_does_not_take_in_waits_as_a_proposal(editor: User):
    run(article("a"), article("b"))
    review.confirm_cluster(NewsCluster.objects.get().pk, editor)
    run(article("c", published_at=NOON + timedelta(hours=3)))
    link = NewsLink.objects.get(status="pending")
    assert keys() == [f"p{link.pk}"]
    assert ReviewItem.objects.get().size == 3
    review.judge_pair(link.low_id, link.high_id, "duplicate", editor)
    assert keys() == []


def test_a_pair_inside_one_cluster_does_not_wait_beside_it(editor: User):
    run(article("a"), article("b"), article("c"))
    cluster = NewsCluster.objects.get()
    linked = set(NewsLink.objects.values_list("low", "high"))
    ids = cluster.members.order_by("pk").values_list("pk", flat=True)
    (low, high), *_ = set(combinations(ids, 2)) - linked
    shares = {"containment_low": 1.0, "containment_high": 1.0}
    NewsLink.objects.create(
        low_id=low, high_id=high, kind="excerpt", status="pending", score=0.5, rules_version="x", **shares
    )
    clustering.rebuild_all()
    assert keys() == [f"c{cluster.pk}"]


def test_of_several_pairs_between_two_groups_one_waits_and_a_verdict_on_it_ends_all(editor: User):
    run(article("a"), article("b", content=BODY + "开门当天来了不少居民，绘本区里坐满了孩子。"))
    review.confirm_cluster(NewsCluster.objects.get().pk, editor)
    run(article("d", content=UPDATE, published_at=NOON + timedelta(hours=3)))
    assert NewsLink.objects.filter(status="pending").count() > 1
    item = ReviewItem.objects.get()
    assert item.score == max(NewsLink.objects.filter(status="pending").values_list("score", flat=True))
    decision = review.judge_pair(item.link.low_id, item.link.high_id, "update", editor)
    assert keys() == []
    review.undo(decision.pk, editor)
    assert keys() == [item.key]


def test_an_edit_after_a_verdict_waits(editor: User):
    one, other = run(article("a"), article("b"))
    review.judge_pair(one, other, "duplicate", editor)
    review.confirm_cluster(NewsCluster.objects.get().pk, editor)
    run(article("b", title="柳溪村办起稻田音乐会", content="柳溪村的稻田里搭起了舞台，乡亲们自己唱。" * 6))
    assert ReviewItem.objects.get().kind == ReviewItem.CHANGED
    review.judge_pair(one, other, "different", editor)
    assert keys() == []


def test_what_nobody_could_tell_waits_behind_the_rest(pair: NewsLink, editor: User):
    before = ReviewItem.objects.get().priority
    review.judge_pair(pair.low_id, pair.high_id, "unsure", editor)
    item = ReviewItem.objects.get()
    assert item.unsure
    assert item.priority == pytest.approx(before + queue.UNSURE_DAYS)


def test_deleting_an_article_ends_what_waited_for_it(pair: NewsLink):
    News.objects.get(pk=pair.high_id).delete()
    assert keys() == []


def test_a_claim_outlives_what_is_derived(pair: NewsLink, editor: User):
    queue.claim(ReviewItem.objects.get(), editor)
    run(article("c", content=UPDATE.replace("身份证", "借书证")))
    clustering.rebuild_all()
    assert ReviewItem.objects.get(link=pair).claimed_by == editor


def test_a_claim_is_one_editors_until_it_expires(pair: NewsLink, editor: User):
    other = User.objects.create_user("heping")
    queue.claim(ReviewItem.objects.get(), editor)
    queue.claim(ReviewItem.objects.get(), other)
    assert ReviewItem.objects.get().claimed_by == editor
    ReviewItem.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
    queue.claim(ReviewItem.objects.get(), other)
    assert ReviewItem.objects.get().claimed_by == other


def test_a_rebuild_finds_the_same_and_removes_what_waits_for_nothing(pair: NewsLink):
    run(article("c", title="城东花市开张", content="城东花市今天开张，第一天来了三千多位客人。" * 4))
    before = list(ReviewItem.objects.values("link", "cluster", "priority", "size", "kind"))
    ReviewItem.objects.all().delete()
    clustering.rebuild_all()
    assert list(ReviewItem.objects.values("link", "cluster", "priority", "size", "kind")) == before
    NewsLink.objects.filter(pk=pair.pk).update(status="auto")
    assert queue.remove_stray() == 1
    assert keys() == []


def test_the_migration_fills_the_queue_as_the_services_do(pair: NewsLink):
    run(article("c"), article("d", title="城东花市开张", content="城东花市今天开张。" * 9))
    ids = run(article("e", title="河灯会", content=UPDATE), article("f", title="灯会", content=BODY[:99]))
    review.judge_pair(*ids, "duplicate", None)
    columns = ("link", "cluster", "lead", "other", "kind", "priority", "score", "size", "source", "unsure")
    before = set(ReviewItem.objects.values_list(*columns))
    assert len(before) > 1
    ReviewItem.objects.all().delete()
    import_module("articles.migrations.0004_review_queue").fill(apps, connection.schema_editor())
    assert set(ReviewItem.objects.values_list(*columns)) == before


def test_the_order_is_a_balance_of_uncertainty_freshness_and_spread():
    day = datetime(2026, 11, 28, tzinfo=UTC)
    earlier = day - timedelta(days=2)
    assert queue.priority(day, 0.5, 2) > queue.priority(day, 0.9, 2)
    assert queue.priority(earlier, 0.5, 2) > queue.priority(day, 1.0, 2)
    assert queue.priority(day, 0.9, 32) > queue.priority(day, 0.9, 2)
    assert queue.priority(day, 0.5, 2, unsure=True) < queue.priority(earlier, 0.9, 2)


@pytest.mark.parametrize("unsure", [False, True])
@pytest.mark.parametrize("size", [1, 2, 40, 1_000_000])
@pytest.mark.parametrize("score", [0.0, 0.5, 1.0])
def test_a_place_is_never_far_from_the_day_of_publication(score, size, unsure):
    """The desk looks for days between these bounds alone."""
    published = QUEUE_START + timedelta(days=2_000)
    apart = queue.priority(published, score, size, unsure) - 2_000
    assert -PRIORITY_BELOW <= apart <= PRIORITY_ABOVE
