"""What a person decides holds, and can be taken back."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db.models import F

from articles.models import News, NewsCluster, NewsDecision, NewsLink
from articles.services import clustering, pipeline, review
from articles.services.ingest import ingest
from tests.stories import BODY, NOON, TITLE, article, clusters, leads, run

pytestmark = [pytest.mark.database, pytest.mark.django_db]


@pytest.fixture
def editor() -> User:
    return User.objects.create_user("zhouqing")


@pytest.fixture
def pair() -> tuple[int, int]:
    one, other = run(article("a"), article("b", published_at=NOON + timedelta(hours=1)))
    assert clusters() == {frozenset("ab")}
    return one, other


def judge_all_again() -> None:
    News.objects.update(state="pending", revision=F("revision") + 1)
    pipeline.deduplicate_pending()
    clustering.rebuild_all()


@pytest.mark.parametrize("verdict", ["different", "update", "excerpt", "same_event", "template"])
def test_pair_kept_apart_stays_apart_through_reruns_reimports_and_third_copies(
    pair: tuple[int, int], editor: User, verdict: str
) -> None:
    review.judge_pair(*pair, verdict, editor)
    judge_all_again()
    ingest([article("a"), article("b", published_at=NOON + timedelta(hours=1))], enqueue=False)
    run(article("c", published_at=NOON + timedelta(hours=2)))
    assert not any({"a", "b"} <= cluster for cluster in clusters())
    link = NewsLink.objects.get(low=pair[0], high=pair[1])
    assert (link.kind, link.status, link.locked) == (verdict, "rejected", True)


def test_pair_declared_duplicate_is_folded_whatever_the_texts_say(editor: User) -> None:
    ids = run(
        article("a"), article("b", title="完全不同的标题", content="另一件事情，和前面没有一句相同的话。" * 5)
    )
    assert clusters() == set()
    review.judge_pair(*ids, "duplicate", editor)
    judge_all_again()
    assert clusters() == {frozenset("ab")}


def test_unsure_keeps_the_pair_waiting_and_unlocked(pair: tuple[int, int], editor: User) -> None:
    review.judge_pair(*pair, "unsure", editor)
    link = NewsLink.objects.get()
    assert (link.status, link.unsure, link.locked) == ("pending", True, False)
    assert clusters() == set()


def test_undo_restores_the_exact_former_state(pair: tuple[int, int], editor: User) -> None:
    before = _state()
    decision = review.judge_pair(*pair, "different", editor, note="标题一样，书不一样")
    assert _state() != before
    review.undo(decision.pk, editor)
    assert _state() == before


def test_undo_removes_a_link_that_the_decision_made(editor: User) -> None:
    ids = run(
        article("a"),
        article("b", title="城东花市开张", content="城东花市今天开张，第一天来了三千多位客人。" * 4),
    )
    decision = review.judge_pair(*ids, "duplicate", editor)
    review.undo(decision.pk, editor)
    assert clusters() == set()
    assert not NewsLink.objects.exists()


def test_undo_is_refused_after_somebody_decided_again(pair: tuple[int, int], editor: User) -> None:
    first = review.judge_pair(*pair, "different", editor)
    review.judge_pair(*pair, "duplicate", editor)
    with pytest.raises(review.ConflictError):
        review.undo(first.pk, editor)
    assert clusters() == {frozenset("ab")}


def test_undo_twice_is_refused(pair: tuple[int, int], editor: User) -> None:
    decision = review.judge_pair(*pair, "different", editor)
    review.undo(decision.pk, editor)
    with pytest.raises(review.ConflictError):
        review.undo(decision.pk, editor)


def test_verdict_on_a_link_that_changed_meanwhile_is_refused(pair: tuple[int, int], editor: User) -> None:
    review.judge_pair(*pair, "different", editor, seen="auto")
    with pytest.raises(review.ConflictError):
        review.judge_pair(*pair, "duplicate", editor, seen="auto")
    assert NewsDecision.objects.count() == 1


@pytest.mark.parametrize("verdict", ["", "exact", "nonsense"])
def test_unknown_verdict_is_refused_and_nothing_is_written(
    pair: tuple[int, int], editor: User, verdict: str
) -> None:
    with pytest.raises(review.ReviewError):
        review.judge_pair(*pair, verdict, editor)
    assert not NewsDecision.objects.exists()


def test_article_with_itself_and_article_that_is_gone_are_refused(
    pair: tuple[int, int], editor: User
) -> None:
    with pytest.raises(review.ReviewError):
        review.judge_pair(pair[0], pair[0], "duplicate", editor)
    with pytest.raises(review.ReviewError):
        review.judge_pair(pair[0], 10**9, "duplicate", editor)


def test_removed_member_stays_out_and_undo_brings_it_back(editor: User) -> None:
    run(article("a"), article("b", content=BODY[:150]), article("c", title="旧粮仓成了图书馆"))
    cluster = NewsCluster.objects.get()
    decision = review.remove_member(cluster.pk, News.objects.get(external_id="c").pk, editor)
    judge_all_again()
    assert clusters() == {frozenset("ab")}
    review.undo(decision.pk, editor)
    assert clusters() == {frozenset("abc")}


def test_copy_of_identical_text_can_be_removed_too(editor: User) -> None:
    run(*(article(name) for name in "abc"))
    cluster = NewsCluster.objects.get()
    out = News.objects.filter(cluster=cluster).exclude(pk=cluster.lead_id).first()
    review.remove_member(cluster.pk, out.pk, editor)
    judge_all_again()
    assert clusters() == {frozenset("abc") - {out.external_id}}


def test_lead_chosen_by_a_person_stays_when_an_earlier_article_comes(
    pair: tuple[int, int], editor: User
) -> None:
    cluster = NewsCluster.objects.get()
    decision = review.set_lead(cluster.pk, pair[1], editor)
    run(article("early", published_at=NOON - timedelta(hours=5)))
    assert leads() == {"b"}
    assert NewsCluster.objects.get().pk == cluster.pk
    review.undo(decision.pk, editor)
    assert leads() == {"early"}


def test_confirmed_cluster_changes_only_by_a_proposal(pair: tuple[int, int], editor: User) -> None:
    review.confirm_cluster(NewsCluster.objects.get().pk, editor)
    (late,) = run(article("c", published_at=NOON + timedelta(hours=3)))
    assert clusters() == {frozenset("ab")}
    link = NewsLink.objects.get(high=late)
    assert (link.kind, link.status) == ("exact", "pending")
    judge_all_again()
    assert clusters() == {frozenset("ab")}
    review.judge_pair(link.low_id, link.high_id, "duplicate", editor)
    assert clusters() == {frozenset("abc")}


def test_edit_of_a_text_keeps_the_verdict_and_tells_the_editors(pair: tuple[int, int], editor: User) -> None:
    review.judge_pair(*pair, "duplicate", editor)
    run(
        article(
            "b", title="柳溪村办起稻田音乐会", content="柳溪村的稻田里搭起了舞台，乡亲们自己唱自己听。" * 6
        )
    )
    link = NewsLink.objects.get()
    assert (link.status, link.locked, link.text_changed) == ("confirmed", True, True)
    assert clusters() == {frozenset("ab")}


def test_decision_keeps_who_why_and_both_titles(pair: tuple[int, int], editor: User) -> None:
    decision = review.judge_pair(*pair, "different", editor, note="  两地同名  ")
    assert (decision.actor, decision.note, decision.left_title) == (editor, "两地同名", TITLE)


def _state() -> list[object]:
    links = NewsLink.objects.order_by("pk").values_list("low", "high", "kind", "status", "locked", "score")
    rows = News.objects.order_by("pk").values_list("pk", "verdict", "cluster__lead", "duplicate_of")
    groups = NewsCluster.objects.exclude(state="merged").values_list("lead", "size", "state", "lead_locked")
    return [list(links), list(rows), list(groups)]
