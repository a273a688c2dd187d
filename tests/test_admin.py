"""The administration: who gets in, what lists cost, what may be changed, and by which service."""

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from articles.admin import NewsAdmin
from articles.models import News, NewsCluster, NewsDecision, NewsLink, NewsPassage, Upload
from articles.services import pipeline
from tests.factories import take_tasks
from tests.views.factories import make_cluster, make_decision, make_link, make_news, make_user
from tests.views.test_lists import queries
from tests.views.test_pages import HOSTILE

MODELS = (News, NewsLink, NewsCluster, NewsDecision, NewsPassage, Upload)
NAMES = [model._meta.model_name for model in MODELS]


@pytest.fixture(autouse=True)
def _apart(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    cache.clear()
    yield
    take_tasks()


def entered(role: str, staff: bool = True, **fields) -> Client:
    client = Client(headers={"accept-language": "zh-hans"})
    client.force_login(make_user(role, is_staff=staff, **fields))
    return client


@pytest.fixture
def chief(db):
    return entered("chief")


@pytest.fixture
def administrator(db):
    return entered("administrator")


def changelist(name: str) -> str:
    return reverse(f"admin:articles_{name}_changelist")


def change(row) -> str:
    return reverse(f"admin:articles_{row._meta.model_name}_change", args=[row.pk])


def act(client: Client, model, action: str, rows, **values: str):
    form = {"action": action, "_selected_action": [row.pk for row in rows], "index": "0", **values}
    return client.post(changelist(model._meta.model_name), form, follow=True)


def fill(count: int) -> None:
    for _ in range(count):
        cluster = make_cluster(2)
        make_decision(cluster, actor=make_user("editor"))
        user = make_user("editor")
        Upload.objects.create(name="a.csv", user=user, token=str(user.pk), state="done")
        NewsPassage.objects.create(hash=user.pk, text=f"本版第{user.pk}号启事，与正文无关。", decided_by=user)


# --- Who and what -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["", "viewer", "editor"])
def test_the_staff_flag_alone_opens_nothing(db, role):
    client = entered(role)
    assert client.get(reverse("admin:index")).status_code == 302
    assert client.get(changelist("newslink")).status_code == 302


@pytest.mark.parametrize("role", ["chief", "administrator"])
def test_chiefs_and_administrators_get_in(db, role):
    assert entered(role, staff=False).get(reverse("admin:index")).status_code == 302
    client = entered(role)
    assert client.get(reverse("admin:index")).status_code == 200
    fill(1)
    for model in MODELS:
        assert client.get(changelist(model._meta.model_name)).status_code == 200
        assert client.get(change(model.objects.first())).status_code == 200


@pytest.mark.parametrize("name", NAMES)
def test_one_and_three_rows_cost_the_same(administrator, name):
    fill(1)
    one = queries(administrator, changelist(name))
    fill(2)
    assert queries(administrator, changelist(name)) == one


def test_what_follows_from_texts_and_verdicts_is_not_edited(administrator):
    fill(1)
    for model in (NewsLink, NewsCluster, NewsDecision):
        name, row = model._meta.model_name, model.objects.first()
        assert administrator.get(reverse(f"admin:articles_{name}_add")).status_code == 403
        assert administrator.get(reverse(f"admin:articles_{name}_delete", args=[row.pk])).status_code == 403
        before = list(model.objects.values())
        administrator.post(change(row), {"size": 9, "status": "rejected", "kind": "distinct", "note": ""})
        act(administrator, model, "delete_selected", [row], post="yes")
        assert list(model.objects.values()) == before


@pytest.mark.parametrize(
    ("name", "term"), [(name, term) for name in NAMES for term in ("渡口", "1", "#1", "' OR 1")]
)
def test_every_search_answers(administrator, name, term):
    fill(1)
    assert administrator.get(changelist(name), {"q": term}).status_code == 200


def test_an_article_is_found_by_its_number_and_by_its_title(administrator):
    wanted, other = make_news("豆浆涨价"), make_news("油条降价")
    for term, found in ((f"#{other.pk}", [other]), ("豆浆", [wanted])):
        response = administrator.get(changelist("news"), {"q": term})
        assert list(response.context["cl"].result_list) == found


def test_hostile_text_is_shown_as_text(administrator):
    left = make_news(HOSTILE, HOSTILE, source=HOSTILE, external_id=HOSTILE, last_error=HOSTILE)
    right = make_news(HOSTILE + "二", HOSTILE + "二", source=HOSTILE)
    link = make_link(left, right, reasons=[{"code": "number_differs", "left": HOSTILE, "right": "二"}])
    cluster = NewsCluster.objects.create(lead=left, size=2)
    News.objects.update(cluster=cluster, duplicate_of=left)
    decision = make_decision(cluster, note=HOSTILE)
    upload = Upload.objects.create(
        name=HOSTILE, state="failed", problem={"code": "columns", "found": HOSTILE}
    )
    rows = (left, link, cluster, decision, upload)
    for address in [*(changelist(name) for name in NAMES), *(change(row) for row in rows)]:
        page = administrator.get(address).content.decode()
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert 'onerror="alert' not in page


def test_pages_allow_no_inline_script_or_style(administrator):
    fill(1)
    for address in [*map(changelist, NAMES), change(NewsLink.objects.first()), change(News.objects.first())]:
        response = administrator.get(address)
        assert "unsafe" not in response.headers["Content-Security-Policy"]
        page = response.content.decode()
        assert "<style" not in page
        assert " style=" not in page
        assert "<script>" not in page


# --- Overriding a verdict ---------------------------------------------------------------------------------


@pytest.fixture
def link(db) -> NewsLink:
    make_cluster(2)
    return NewsLink.objects.get()


def override(client: Client, link: NewsLink, verdict: str = "different", note: str = "两回事", **values: str):
    form = {"verdict": verdict, "note": note, "seen": link.status, **values}
    return client.post(change(link), form, follow=True)


def test_a_link_shows_both_articles_side_by_side(chief, link):
    page = chief.get(change(link)).content.decode()
    assert page.count('<article class="head">') == 2
    assert 'class="diff"' in page
    assert page.count('type="radio"') == 7


def test_an_override_is_a_decision_with_a_reason_and_is_locked(chief, link):
    assert "已记录：不同" in override(chief, link).content.decode()
    decision = NewsDecision.objects.get()
    assert (decision.verdict, decision.note, decision.actor.username[:5]) == ("different", "两回事", "chief")
    link.refresh_from_db()
    assert (link.status, link.locked) == ("rejected", True)
    News.objects.update(state="pending")
    pipeline.deduplicate_pending()
    assert (NewsLink.objects.get().status, NewsLink.objects.get().locked) == ("rejected", True)
    assert "撤销" in chief.get(change(link)).content.decode()


@pytest.mark.parametrize("verdict", ["duplicate", "update", "excerpt", "same_event", "template", "unsure"])
def test_every_verdict(chief, link, verdict):
    override(chief, link, verdict)
    assert NewsDecision.objects.get().verdict == verdict


@pytest.mark.parametrize(
    ("values", "said"),
    [({"note": " "}, "请写明理由"), ({"verdict": ""}, "errorlist"), ({"verdict": "x"}, "errorlist")],
)
def test_without_a_reason_or_a_verdict_nothing_is_decided(chief, link, values, said):
    response = override(chief, link, **values)
    assert said in response.content.decode()
    assert not NewsDecision.objects.exists()


def test_what_changed_meanwhile_is_not_overwritten(chief, link):
    response = override(chief, link, seen="pending")
    assert "再看一遍" in response.content.decode()
    assert not NewsDecision.objects.exists()


def test_a_link_that_is_gone_leads_back(chief, link):
    address = change(link)
    link.delete()
    assert chief.get(address, follow=True).redirect_chain


# --- Actions ----------------------------------------------------------------------------------------------


def test_confirming_and_rejecting_links(chief):
    make_cluster(3)
    first, second = NewsLink.objects.order_by("pk")
    assert "已处理 1 条" in act(chief, NewsLink, "confirm", [first]).content.decode()
    act(chief, NewsLink, "reject", [second])
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.status, first.locked) == ("confirmed", True)
    assert (second.status, second.kind, second.locked) == ("rejected", "different", True)
    assert NewsDecision.objects.count() == 2


def test_confirming_clusters(chief):
    clusters = [make_cluster(2), make_cluster(3)]
    merged = make_cluster(2, state="merged")
    page = act(chief, NewsCluster, "confirm", [*clusters, merged]).content.decode()
    assert "已处理 2 条" in page
    assert "errornote" in page or 'class="error"' in page
    assert set(NewsCluster.objects.filter(state="reviewed")) == set(clusters)
    assert NewsDecision.objects.filter(action="confirm").count() == 2


def test_judging_again(chief):
    news, failed = make_news(), make_news(state="failed", attempts=3, last_error="E")
    act(chief, News, "retry_failed", [news, failed])
    assert list(News.objects.order_by("pk").values_list("state", "attempts")) == [("done", 0), ("pending", 0)]
    act(chief, News, "rejudge", [news])
    assert News.objects.filter(state="pending", revision=1).count() == 2


def test_reading_a_failed_upload_again(chief):
    failed = Upload.objects.create(name="a", stored="a.csv", state="failed", token="1")
    done = Upload.objects.create(name="b", stored="b.csv", state="done", token="2")
    act(chief, Upload, "retry", [failed, done])
    assert list(Upload.objects.order_by("pk").values_list("state", flat=True)) == ["waiting", "done"]


def test_a_list_ends_where_a_page_would_cost_too_much(administrator, monkeypatch):
    for _ in range(5):
        make_news()
    monkeypatch.setattr(NewsAdmin, "list_per_page", 2)
    monkeypatch.setattr("articles.admin.MOST_LISTED", 3)
    pages = [administrator.get(changelist("news"), {"p": page}).context["cl"] for page in (1, 2)]
    assert [len(page.result_list) for page in pages] == [2, 1]
    assert pages[0].paginator.num_pages == 2


def test_an_action_on_very_many_rows_is_refused(chief, monkeypatch):
    monkeypatch.setattr("articles.admin.MAX_AT_ONCE", 1)
    act(chief, News, "rejudge", [make_news(), make_news()])
    assert not News.objects.filter(state="pending").exists()


# --- News -------------------------------------------------------------------------------------------------


def edit(client: Client, news: News, **values: str):
    form = {"title": news.title, "content": news.content, "source": news.source, "url": news.url}
    date = {"published_at": "2025-12-01T12:00:00"}
    return client.post(change(news), {**form, **date, **values})


def test_a_corrected_article_is_judged_again(chief):
    news = make_news()
    response = edit(chief, news, title="改过的标题", verdict="lead", state="failed", external_id="other")
    assert response.status_code == 302
    saved = News.objects.get()
    assert (saved.title, saved.state, saved.revision) == ("改过的标题", "pending", 1)
    assert (saved.verdict, saved.external_id) == (news.verdict, news.external_id)


def test_an_article_may_be_written_here(chief):
    form = {"title": "新稿", "content": "渡口今晨复航。", "source": "江城日报", "external_id": "n1"}
    assert chief.post(reverse("admin:articles_news_add"), form).status_code == 302
    assert News.objects.get().state == "pending"
    assert News.objects.get().identity


def test_only_administrators_delete_news_and_neighbours_are_judged_again(chief, administrator):
    make_cluster(3)
    lead = News.objects.get(verdict="lead")
    act(chief, News, "delete_selected", [lead], post="yes")
    assert News.objects.count() == 3
    page = act(administrator, News, "delete_selected", [lead]).content.decode()
    assert lead.title in page
    act(administrator, News, "delete_selected", [lead], post="yes")
    assert list(News.objects.values_list("state", flat=True)) == ["pending", "pending"]
    other = News.objects.first()
    administrator.post(reverse("admin:articles_news_delete", args=[other.pk]), {"post": "yes"})
    assert News.objects.count() == 1


def test_a_deleted_upload_leaves_its_articles(chief):
    upload = Upload.objects.create(name="a", stored="a.csv", state="done")
    make_news(upload=upload)
    act(chief, Upload, "delete_selected", [upload], post="yes")
    assert not Upload.objects.exists()
    assert News.objects.get().upload is None


# --- Users ------------------------------------------------------------------------------------------------


def user_form(user: User, **values: object) -> dict[str, object]:
    joined = {"date_joined_0": "2025-12-01", "date_joined_1": "12:00:00"}
    return {"username": user.username, "is_active": "on", "is_staff": "on", **joined, **values}


def test_an_administrator_gives_roles_and_no_more(administrator):
    user = User.objects.get(username__startswith="administrator")
    permission = Group.objects.get(name="administrator").permissions.first()
    address = reverse("admin:auth_user_change", args=[user.pk])
    page = administrator.get(address).content.decode()
    assert 'name="groups"' in page
    assert "is_superuser" not in page
    assert "user_permissions" not in page
    groups = [group.pk for group in user.groups.all()]
    form = user_form(user, is_superuser="on", user_permissions=[permission.pk], groups=groups)
    assert administrator.post(address, form).status_code == 302
    user.refresh_from_db()
    assert not user.is_superuser
    assert not user.user_permissions.exists()


def test_a_superusers_account_is_his_own(administrator):
    owner = User.objects.create_superuser("owner", password="long-and-right")
    administrator.post(reverse("admin:auth_user_change", args=[owner.pk]), user_form(owner, is_active=""))
    password = reverse("admin:auth_user_password_change", args=[owner.pk])
    assert administrator.get(password).status_code == 403
    administrator.post(password, {"password1": "taken-over-1", "password2": "taken-over-1"})
    owner.refresh_from_db()
    assert owner.is_active
    assert owner.check_password("long-and-right")


def test_a_superuser_may_give_everything(db):
    client = Client()
    client.force_login(User.objects.create_superuser("owner"))
    page = client.get(reverse("admin:auth_user_change", args=[make_user("viewer").pk])).content.decode()
    assert "is_superuser" in page


def test_tables_with_composite_keys_are_not_registered():
    registered = {model._meta.model_name for model in admin.site._registry}
    assert not registered & {"newsshingle", "newstext"}


# --- Furniture --------------------------------------------------------------------------------------------


def test_passage_shows_where_it_occurs_with_its_text_escaped(chief):
    news = make_news(title=HOSTILE)
    passage = NewsPassage.objects.create(hash=1, text=HOSTILE, examples=[news.pk])
    page = chief.get(change(passage)).content.decode()
    assert reverse("news_detail", args=[news.pk]) in page
    assert HOSTILE not in page


def test_chief_rejects_and_approves_a_passage(chief):
    passage = NewsPassage.objects.create(hash=1, text="扫码关注本报，每天早上收到头条。")
    act(chief, NewsPassage, "reject", [passage])
    passage.refresh_from_db()
    assert (passage.state, passage.unsettled, passage.decided_by is None) == ("rejected", True, False)
    act(chief, NewsPassage, "approve", [passage])
    passage.refresh_from_db()
    assert passage.state == "approved"
