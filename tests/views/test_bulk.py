"""Many at once through the pages, and groups split, merged and linked by hand."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from articles.models import BulkRun, NewsCluster, NewsDecision, NewsLink, ReviewItem
from articles.services import bulk
from tests.views.factories import blocked_pair, make_cluster, make_link, make_news

HOSTILE = '<script>document.title="taken"</script>'


@pytest.fixture
def editor(as_role):
    return as_role("editor")


def make_pair(title: str = "渡口通航", **fields) -> NewsLink:
    """A pair that waits, with its row in the queue."""
    values = {"kind": "update", "status": "pending", "score": 0.5, **fields}
    link = make_link(make_news(title, "第一篇的话。"), make_news(f"{title}（续）", "第二篇的话。"), **values)
    ReviewItem.objects.create(
        link=link,
        lead_id=link.low_id,
        other_id=link.high_id,
        kind=link.kind,
        priority=link.pk,
        score=link.score,
        size=2,
        published=timezone.now(),
    )
    return link


def preview(client, **query):
    return client.get(reverse("bulk_preview"), query)


def apply(client, count: int, **query):
    address = reverse("bulk_apply", query=query)
    word = {"seen": timezone.now().isoformat(), "count": count, "note": "周末补审"}
    return client.post(address, word, follow=True)


def queries(client, address: str) -> int:
    client.get(address)
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code == 200
    return len(captured)


def test_selected_groups_are_previewed_confirmed_and_undone(editor):
    clusters = [make_cluster(3), make_cluster(2)]
    make_cluster(2)
    chosen = {"of": "clusters", "id": [cluster.pk for cluster in clusters], "keeper": "longest"}
    shown = preview(editor, **chosen).content.decode()
    assert "批量确认 2 个转载群" in shown
    assert not NewsDecision.objects.exists()
    response = apply(editor, 2, **chosen)
    assert "已作出 2 项判定" in response.content.decode()
    assert NewsCluster.objects.filter(state="reviewed").count() == 2
    run = BulkRun.objects.get()
    assert (run.note, run.keeper["rule"]) == ("周末补审", "longest")
    response = editor.post(reverse("bulk_undo", args=[run.pk]), follow=True)
    assert "已撤销 2 项判定" in response.content.decode()
    assert not NewsCluster.objects.filter(state="reviewed").exists()


def test_all_that_match_follows_the_filter_as_it_is_on_the_server(editor):
    for size in (2, 3, 4):
        make_cluster(size)
    response = apply(editor, 2, of="clusters", all="on", size=3)
    assert "已作出 2 项判定" in response.content.decode()
    assert set(NewsCluster.objects.filter(state="open").values_list("size", flat=True)) == {2}


def test_all_that_match_of_the_pairs(editor):
    for title in ("渡口通航", "渡口停航", "早点铺开门"):
        make_pair(title)
    response = apply(editor, 2, of="pairs", all="on", q="渡口", action="update")
    assert "已作出 2 项判定" in response.content.decode()
    assert NewsLink.objects.filter(status="rejected", kind="update").count() == 2


@pytest.mark.parametrize("wrong", [{"size": "x"}, {"since": "gestern"}, {"state": "nonsense"}])
def test_a_filter_that_cannot_be_read_selects_nothing(editor, wrong):
    make_cluster()
    assert preview(editor, of="clusters", all="on", **wrong).status_code == 302
    apply(editor, 1, of="clusters", all="on", **wrong)
    assert not BulkRun.objects.exists()


def test_more_than_the_person_saw_is_previewed_again(editor):
    make_cluster()
    make_cluster()
    response = apply(editor, 1, of="clusters", all="on")
    assert "重新预览" in response.content.decode()
    assert not BulkRun.objects.exists()


def test_the_bound_is_told(editor, monkeypatch):
    monkeypatch.setattr(bulk, "MOST", 2)
    for _ in range(3):
        make_cluster()
    response = preview(editor, of="clusters", all="on")
    assert response.context["preview"].count == 2
    assert "符合的超过 2" in response.content.decode()


@pytest.mark.parametrize("ids", [[], ["x"], ["9" * 30], ["²"]])
def test_nothing_selected_leads_back_to_the_list(editor, ids):
    make_cluster()
    response = editor.get(reverse("bulk_preview"), {"of": "pairs", "id": ids, "q": "渡口"}, follow=True)
    assert response.redirect_chain[-1][0] == reverse("pair_list", query={"q": "渡口"})
    assert "请先勾选" in response.content.decode()


def test_pairs_need_a_verdict_before_anything_can_begin(editor):
    link = make_pair()
    shown = preview(editor, of="pairs", id=link.pk).content.decode()
    assert "请选择判定" in shown
    assert 'name="note"' not in shown
    apply(editor, 1, of="pairs", id=link.pk)
    assert not BulkRun.objects.exists()


def test_preferred_sources_are_read_as_people_write_them(editor):
    cluster = make_cluster(3)
    last = cluster.members.order_by("-pk").first()
    apply(
        editor,
        1,
        of="clusters",
        id=cluster.pk,
        keeper="sources",
        sources=f"没有的报，\n{last.source}、别的报",
    )
    cluster.refresh_from_db()
    assert cluster.lead.source == last.source
    assert BulkRun.objects.get().keeper["sources"] == ["没有的报", last.source, "别的报"]


def test_many_show_their_progress(editor):
    run = BulkRun.objects.create(
        subject="pairs", action="update", items=list(range(80)), position=20, seen_at=timezone.now()
    )
    shown = editor.get(reverse("bulk_detail", args=[run.pk])).content.decode()
    assert "20 / 80" in shown
    assert "data-poll" in shown
    fragment = editor.get(reverse("bulk_detail", args=[run.pk]), headers={"hx-request": "true"})
    assert "<html" not in fragment.content.decode()


def test_what_was_left_alone_is_named(editor):
    cluster, link = make_cluster(), make_pair(HOSTILE)
    for subject, item in (("clusters", cluster), ("pairs", link)):
        run = BulkRun.objects.create(
            subject=subject,
            state="done",
            seen_at=timezone.now(),
            refused=[[item.pk, "changed"], [10**9, "refused"]],
        )
        shown = editor.get(reverse("bulk_detail", args=[run.pk])).content.decode()
        assert "2 项未处理" in shown
        assert "预览后有变动" in shown
        assert HOSTILE not in shown


def test_duplicates_whose_groups_stay_apart_are_named(editor):
    link = blocked_pair()
    user = User.objects.get(username__startswith="editor")
    run = bulk.apply_bulk("pairs", [link.pk], "duplicate", bulk.Keeper(), user)
    address = reverse("bulk_detail", args=[run.pk])
    text = editor.get(address).content.decode()
    assert "1 对稿件的两群没有并成一群" in text
    assert f"?left={link.low_id}&amp;right={link.high_id}" in text
    bulk.undo_bulk(run.pk, user)
    assert "没有并成一群" not in editor.get(address).content.decode()


def test_titles_are_escaped_everywhere(editor):
    link = make_pair(HOSTILE)
    cluster = make_cluster()
    cluster.lead.title = HOSTILE
    cluster.lead.save()
    for address in (
        reverse("pair_list"),
        reverse("cluster_list"),
        reverse("bulk_preview", query={"of": "pairs", "id": link.pk}),
        reverse("bulk_preview", query={"of": "clusters", "id": cluster.pk, "x": HOSTILE}),
        reverse("cluster_split", args=[cluster.pk]),
        reverse("news_link", args=[link.low_id], query={"q": HOSTILE}),
    ):
        shown = editor.get(address).content.decode()
        assert HOSTILE not in shown
        assert "&lt;script&gt;" in shown


@pytest.mark.parametrize("subject", ["clusters", "pairs"])
def test_the_preview_costs_the_same_for_few_and_many(editor, subject):
    make = make_cluster if subject == "clusters" else make_pair
    costs = []
    for _ in range(2):
        ids = [make().pk for _ in range(12)]
        costs.append(queries(editor, reverse("bulk_preview", query={"of": subject, "id": ids})))
    few = queries(editor, reverse("bulk_preview", query={"of": subject, "id": ids[:10]}))
    assert costs == [few, few]


def test_one_and_three_pairs_cost_the_same(viewer):
    make_pair()
    one = queries(viewer, reverse("pair_list"))
    make_pair()
    make_pair()
    assert queries(viewer, reverse("pair_list")) == one


def test_who_may_only_read_sees_no_boxes(viewer):
    make_cluster()
    make_pair()
    for name in ("cluster_list", "pair_list"):
        assert 'type="checkbox"' not in viewer.get(reverse(name)).content.decode()


def test_pairs_page_by_page(viewer, monkeypatch):
    monkeypatch.setattr("articles.selections.PAGE_SIZE", 2)
    links = [make_pair().pk for _ in range(5)]
    seen, address = [], reverse("pair_list")
    while address:
        page = viewer.get(address).context["page"]
        seen += [item.link_id for item in page.rows]
        address = reverse("pair_list", query={"after": page.older}) if page.older else ""
    assert seen == links[::-1]


def test_english(as_role):
    client = as_role("editor", "en")
    cluster = make_cluster()
    make_pair()
    assert "Act on all that match" in client.get(reverse("pair_list")).content.decode()
    assert "Confirm 1 group<" in preview(client, of="clusters", id=cluster.pk).content.decode()
    assert "1 decision made." in apply(client, 1, of="clusters", id=cluster.pk).content.decode()
    assert "Split the group" in client.get(reverse("cluster_split", args=[cluster.pk])).content.decode()


# -- by hand -----------------------------------------------------------------------------------------------


def members(cluster: NewsCluster) -> list[int]:
    return list(cluster.members.order_by("pk").values_list("pk", flat=True))


def test_splitting_a_group(editor):
    cluster = make_cluster(4)
    lead, one, two, three = members(cluster)
    address = reverse("cluster_split", args=[cluster.pk])
    response = editor.post(address, {"news": [two, three], "note": "另一场演出"}, follow=True)
    assert "已拆分" in response.content.decode()
    assert members(cluster) == [lead, one]
    decision = NewsDecision.objects.get()
    assert (decision.action, decision.note) == ("split", "另一场演出")
    editor.post(reverse("undo", args=[decision.pk]))
    assert members(cluster) == [lead, one, two, three]


def test_a_split_that_is_refused_keeps_what_was_chosen(editor):
    cluster = make_cluster(2)
    response = editor.post(
        reverse("cluster_split", args=[cluster.pk]), {"news": [*members(cluster), "x"], "note": "备注"}
    )
    shown = response.content.decode()
    assert "不能全选" in shown
    assert shown.count(" checked") == 2
    assert 'value="备注"' in shown
    assert not NewsDecision.objects.exists()


def test_searching_linking_and_merging(editor):
    left, right = make_cluster(2), make_cluster(2)
    right.lead.title = "下游渡口也恢复通航"
    right.lead.save()
    address = reverse("news_link", args=[left.lead_id])
    for words in ("下游", str(right.lead_id), f"#{right.lead_id}", right.lead.external_id, right.lead.url):
        assert [news.pk for news in editor.get(address, {"q": words}).context["found"]] == [right.lead_id]
    own = reverse("news_detail", args=[right.lead_id])
    assert editor.get(address, {"q": f"http://testserver{own}"}).context["found"][0] == right.lead
    assert "合并两群" in editor.get(address, {"q": "下游"}).content.decode()
    response = editor.post(reverse("merge_clusters", args=[left.pk]), {"other": right.pk}, follow=True)
    assert "已合并" in response.content.decode()
    assert len(members(left)) == 4
    assert "同一群" in editor.get(address, {"q": "下游"}).content.decode()


def test_a_merge_that_is_blocked_says_by_whom(editor):
    left, right = make_cluster(2), make_cluster(2)
    one, other = members(left)[1], members(right)[1]
    editor.post(reverse("judge_pair", args=[one, other]), {"verdict": "different"})
    response = editor.post(reverse("merge_clusters", args=[left.pk]), {"other": right.pk}, follow=True)
    assert "判定“沿江渡口今晨恢复通航”与“沿江渡口今晨恢复通航”分开（不同）" in response.content.decode()


@pytest.mark.parametrize("other", ["", "x", "9" * 30, "0"])
def test_merging_with_nothing_is_refused(editor, other):
    cluster = make_cluster()
    response = editor.post(reverse("merge_clusters", args=[cluster.pk]), {"other": other}, follow=True)
    assert 'class="error"' in response.content.decode()
    assert not NewsDecision.objects.exists()


def test_search_that_finds_nothing_says_where_it_looked(editor):
    news = make_news()
    address = reverse("news_link", args=[news.pk])
    assert "没有找到" in editor.get(address, {"q": "没有这样的标题"}).content.decode()
    assert "没有找到" in editor.get(address, {"q": f"#{news.pk}"}).content.decode()
