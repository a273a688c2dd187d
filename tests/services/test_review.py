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


@pytest.mark.parametrize(
    ("content", "expected"),
    [(BODY, ("near", "pending", True)), (BODY[: len(BODY) // 2], None), ("图书馆之外的事。" * 20, None)],
)
def test_unsure_pair_waits_on_until_an_edit_makes_it_another_kind(
    content: str, expected: tuple[str, str, bool] | None, editor: User
) -> None:
    ids = run(article("a"), article("b", title="旧粮仓变身图书馆"))
    review.judge_pair(*ids, "unsure", editor)
    run(article("b", title="旧粮仓变身图书馆", content=content + "\n责任编辑：吴敏"))
    links = list(NewsLink.objects.values_list("kind", "status", "unsure"))
    if expected:
        assert links == [expected]
    else:
        assert not any(unsure for *_, unsure in links)
    assert not NewsLink.objects.filter(status=NewsLink.Status.AUTO, unsure=True).exists()


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


# --- splitting and merging --------------------------------------------------------------------------------

OTHER_TITLE = "城东花市开张"
OTHER_BODY = (
    "城东花市昨天开张，第一天来了三千多位客人，停车场九点就满了。\n"
    "花农老陈从凌晨两点开始装车，带来的四百盆水仙不到中午就卖完了，下午又补了一车。\n"
    "市场里分切花、盆栽、种子三个区，另设一间小教室，周末教孩子们怎么换盆。\n"
    "管理处说，花市每天早上六点开门，年前不休息，摊位费第一个月减半。"
)


def ids_of(names: str) -> list[int]:
    return [News.objects.get(external_id=name).pk for name in names]


def home(name: str) -> NewsCluster:
    cluster = News.objects.get(external_id=name).cluster
    assert cluster is not None
    return cluster


@pytest.fixture
def four() -> NewsCluster:
    """One cluster: a leads, c and d have another text than a and b."""
    changed = BODY.replace("一万二千册", "万余册")
    run(
        article("a"),
        article("b", published_at=NOON + timedelta(hours=1)),
        article("c", content=changed, published_at=NOON + timedelta(hours=2)),
        article("d", content=changed, published_at=NOON + timedelta(hours=3)),
    )
    assert clusters() == {frozenset("abcd")}
    return NewsCluster.objects.get()


@pytest.fixture
def two() -> tuple[int, int]:
    """Two clusters of two stories, and the id of each."""
    later = NOON + timedelta(hours=1)
    run(
        *(
            article(name, content=BODY.replace("二十年", "近二十年" * (name == "b") or "二十年"))
            for name in "ab"
        ),
        *(article(name, title=OTHER_TITLE, content=OTHER_BODY, published_at=later) for name in "xy"),
    )
    assert clusters() == {frozenset("ab"), frozenset("xy")}
    return home("a").pk, home("x").pk


@pytest.mark.parametrize("leaving", ["b", "d", "bd", "cd", "bc", "a", "ab", "abc", "acd"])
def test_those_split_off_stay_together_and_apart_from_all_others(
    four: NewsCluster, editor: User, leaving: str
) -> None:
    review.split(four.pk, ids_of(leaving), editor)
    wanted = {frozenset(leaving), frozenset("abcd") - frozenset(leaving)}
    wanted = {cluster for cluster in wanted if len(cluster) > 1}
    assert clusters() == wanted
    judge_all_again()
    assert clusters() == wanted


@pytest.mark.parametrize("leaving", ["b", "bd", "cd", "a", "acd"])
@pytest.mark.parametrize("reviewed", [False, True])
def test_undo_of_a_split_restores_all(four: NewsCluster, editor: User, leaving: str, reviewed: bool) -> None:
    if reviewed:
        review.confirm_cluster(four.pk, editor)
    before = _state(numbers=True)
    decision = review.split(four.pk, ids_of(leaving), editor, note="两家各写各的")
    assert _state(numbers=True) != before
    review.undo(decision.pk, editor)
    assert _state(numbers=True) == before
    judge_all_again()
    assert _state(numbers=True) == before


def test_a_copy_that_comes_later_joins_one_side_only(four: NewsCluster, editor: User) -> None:
    review.split(four.pk, ids_of("bd"), editor)
    run(article("e", published_at=NOON + timedelta(hours=4)))
    assert not any({"a", "b"} <= cluster for cluster in clusters())


@pytest.mark.parametrize("leaving", ["", "abcd"])
def test_splitting_off_none_or_all_is_refused(four: NewsCluster, editor: User, leaving: str) -> None:
    with pytest.raises(review.ReviewError):
        review.split(four.pk, ids_of(leaving), editor)
    assert not NewsDecision.objects.exists()


def test_splitting_off_what_has_left_already_is_refused(four: NewsCluster, editor: User) -> None:
    review.remove_member(four.pk, *ids_of("d"), editor)
    with pytest.raises(review.ConflictError):
        review.split(four.pk, ids_of("cd"), editor)


def test_removing_a_copy_leaves_the_other_copies_where_they_are(four: NewsCluster, editor: User) -> None:
    review.remove_member(four.pk, *ids_of("c"), editor)
    judge_all_again()
    assert clusters() == {frozenset("abd")}


def test_a_split_is_one_decision_and_writes_few_links(editor: User) -> None:
    run(*(article(f"n{number:03}") for number in range(120)))
    cluster = NewsCluster.objects.get()
    leaving = list(cluster.members.order_by("canonical_key").values_list("pk", flat=True)[60:])
    before = NewsLink.objects.count()
    review.split(cluster.pk, leaving, editor)
    assert sorted(len(cluster) for cluster in clusters()) == [60, 60]
    assert NewsLink.objects.count() - before <= 60
    assert NewsDecision.objects.get().action == "split"


@pytest.mark.parametrize("reviewed", ["", "a", "x", "ax"])
def test_merged_clusters_hold_and_undo_gives_both_back(
    two: tuple[int, int], editor: User, reviewed: str
) -> None:
    for name in reviewed:
        review.confirm_cluster(home(name).pk, editor)
    before = _state(numbers=True)
    decision = review.merge(two, editor, note="同一件事")
    assert clusters() == {frozenset("abxy")}
    assert (decision.action, decision.verdict) == ("merge", "duplicate")
    judge_all_again()
    assert clusters() == {frozenset("abxy")}
    review.undo(decision.pk, editor)
    assert _state(numbers=True) == before
    judge_all_again()
    assert _state(numbers=True) == before


def test_a_chosen_lead_comes_back_with_its_cluster(two: tuple[int, int], editor: User) -> None:
    review.set_lead(two[1], ids_of("y")[0], editor)
    before = _state(numbers=True)
    decision = review.merge(two, editor)
    assert leads() == {"y"}
    review.undo(decision.pk, editor)
    assert _state(numbers=True) == before


def test_a_merge_that_a_verdict_stands_against_names_it(two: tuple[int, int], editor: User) -> None:
    one, other = ids_of("bx")
    review.judge_pair(one, other, "different", editor)
    before = _state(numbers=True)
    with pytest.raises(review.BlockedError) as refusal:
        review.merge(two, editor)
    assert all(words in str(refusal.value) for words in (TITLE, OTHER_TITLE, "zhouqing"))
    assert _state(numbers=True) == before
    assert NewsDecision.objects.count() == 1


def test_a_merge_that_a_split_stands_against_names_who_split(four: NewsCluster, editor: User) -> None:
    review.split(four.pk, ids_of("cd"), editor)
    with pytest.raises(review.BlockedError, match="zhouqing"):
        review.merge([home("a").pk, home("c").pk], User.objects.create_user("fangxiao"))


@pytest.mark.parametrize("number", [0, 1])
def test_merging_takes_two(two: tuple[int, int], editor: User, number: int) -> None:
    with pytest.raises(review.ReviewError):
        review.merge(two[:number], editor)


def test_merging_a_cluster_that_is_gone_is_refused(two: tuple[int, int], editor: User) -> None:
    review.merge(two, editor)
    with pytest.raises(review.ConflictError):
        review.merge(two, editor)


def test_a_verdict_that_dissolves_a_cluster_gives_it_back_when_undone(
    pair: tuple[int, int], editor: User
) -> None:
    review.confirm_cluster(NewsCluster.objects.get().pk, editor)
    before = _state(numbers=True)
    decision = review.judge_pair(*pair, "different", editor)
    assert clusters() == set()
    review.undo(decision.pk, editor)
    assert _state(numbers=True) == before


def test_undoing_a_confirmation_takes_the_review_back(pair: tuple[int, int], editor: User) -> None:
    decision = review.confirm_cluster(NewsCluster.objects.get().pk, editor)
    review.undo(decision.pk, editor)
    cluster = NewsCluster.objects.get()
    assert (cluster.state, cluster.reviewed_by, cluster.reviewed_at) == ("open", None, None)


def test_undo_names_who_changed_it_since(four: NewsCluster, editor: User) -> None:
    first = review.split(four.pk, ids_of("cd"), editor)
    review.confirm_cluster(home("a").pk, User.objects.create_user("fangxiao"))
    before = _state(numbers=True)
    with pytest.raises(review.ConflictError, match="fangxiao"):
        review.undo(first.pk, editor)
    assert _state(numbers=True) == before


def test_undo_still_works_after_the_machine_found_an_earlier_lead(four: NewsCluster, editor: User) -> None:
    decision = review.remove_member(four.pk, *ids_of("d"), editor)
    run(article("early", published_at=NOON - timedelta(hours=1)))
    assert leads() == {"early"}
    review.undo(decision.pk, editor)
    assert clusters() == {frozenset(["early", *"abcd"])}


def _state(numbers: bool = False) -> list[object]:
    """All that a decision may change; with the numbers of clusters where those must be the same too."""
    links = NewsLink.objects.order_by("pk").values_list("low", "high", "kind", "status", "locked", "score")
    rows = News.objects.order_by("pk").values_list("pk", "verdict", "cluster__lead", "duplicate_of")
    groups = NewsCluster.objects.exclude(state="merged").order_by("lead")
    own = ("lead", "size", "state", "lead_locked", "reviewed_by", "reviewed_at")
    names = ("pk", *own) if numbers else own
    return [list(links), list(rows), list(groups.values_list(*names))]


# --- deleted ----------------------------------------------------------------------------------------------


def test_chosen_lead_that_is_deleted_takes_the_choice_with_it(editor: User) -> None:
    run(*(article(name, published_at=NOON + timedelta(hours=hour)) for hour, name in enumerate("abc")))
    review.set_lead(NewsCluster.objects.get().pk, ids_of("c")[0], editor)
    News.objects.get(external_id="c").delete()
    pipeline.deduplicate_pending()
    cluster = NewsCluster.objects.get()
    assert (cluster.lead.external_id, cluster.lead_locked) == ("a", False)


@pytest.mark.parametrize("names", ["ab", "a"])
def test_reviewed_cluster_that_is_deleted_bars_nothing_any_longer(names: str, editor: User) -> None:
    run(article("a"), article("b", published_at=NOON + timedelta(hours=1)))
    review.confirm_cluster(NewsCluster.objects.get().pk, editor)
    variant = {"content": BODY + "\n责任编辑：吴敏", "title": "旧粮仓变身图书馆"}
    run(*(article(name, **variant, published_at=NOON + timedelta(hours=2)) for name in "xy"))
    assert clusters() == {frozenset("ab"), frozenset("xy")}
    News.objects.filter(external_id__in=names).delete()
    pipeline.deduplicate_pending()
    left = {frozenset("xy")} if names == "ab" else {frozenset("bxy")}
    assert clusters() == left
    assert NewsCluster.objects.exclude(state=NewsCluster.State.MERGED).count() == 1
    assert not NewsLink.objects.filter(status=NewsLink.Status.PENDING).exists()


def test_what_would_change_very_many_links_is_refused_whole(monkeypatch):
    ids = run(*(article(name) for name in "abcde"))
    cluster = News.objects.get(pk=ids[0]).cluster_id
    before = list(NewsLink.objects.order_by("pk").values("pk", "status", "kind"))
    monkeypatch.setattr(review, "LINKS_AT_ONCE", 2)
    for decide in (
        lambda: review.confirm_cluster(cluster, None),
        lambda: review.split(cluster, ids[2:], None),
    ):
        with pytest.raises(review.ReviewError, match="分几步"):
            decide()
    assert list(NewsLink.objects.order_by("pk").values("pk", "status", "kind")) == before
    assert not NewsDecision.objects.exists()
