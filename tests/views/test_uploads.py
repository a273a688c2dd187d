"""Uploading through the pages: what is refused, what is shown, who may do what."""

import pytest
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from articles.models import News, Upload
from articles.services import uploads
from tests.factories import take_tasks
from tests.views.factories import make_news, make_user
from tests.views.test_lists import queries
from tests.views.test_pages import HOSTILE

TEXT = "标题,正文,来源\n渡轮今晨复航,首班渡轮载客八十六人。,江城日报\n,,江城日报\n"


@pytest.fixture(autouse=True)
def _own_folder(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    yield
    take_tasks()


@pytest.fixture
def editor(as_role):
    return as_role("editor")


def send(client, content: str | bytes = TEXT, name: str = "今天.csv", **values: str):
    data = content.encode() if isinstance(content, str) else content
    form = {"file": SimpleUploadedFile(name, data), "form": "abc", **values}
    return client.post(reverse("upload_create"), form)


def make_upload(**values) -> Upload:
    return Upload.objects.create(
        **{"name": "今天.csv", "total_bytes": 100, "token": Upload.objects.count(), **values}
    )


def shown(client, upload: Upload) -> str:
    return client.get(reverse("upload_detail", args=[upload.pk])).content.decode()


def test_an_upload_is_stored_and_watched(editor):
    response = send(editor, source="北岸新闻网")
    upload = Upload.objects.get()
    assert response.url == reverse("upload_detail", args=[upload.pk])
    assert (upload.name, upload.source, upload.user.username[:6]) == ("今天.csv", "北岸新闻网", "editor")
    page = shown(editor, upload)
    assert 'hx-trigger="every 1s"' in page
    assert "<progress" in page
    assert "没有工作进程在运行" in page
    uploads.import_upload(upload.pk)
    News.objects.update(state="done", verdict="unique")
    page = shown(editor, upload)
    assert "hx-trigger" not in page
    assert "已完成" in page
    assert f"?upload={upload.pk}" in page


def test_htmx_gets_the_progress_alone(editor):
    upload = make_upload()
    address = reverse("upload_detail", args=[upload.pk])
    response = editor.get(address, headers={"HX-Request": "true"})
    assert response.content.decode().strip().startswith('<section id="upload"')


def test_a_double_click_makes_one_upload(editor):
    assert send(editor).url == send(editor).url
    assert Upload.objects.count() == 1


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        (b"", "a.csv", "文件是空的"),
        (b"  \n \n", "a.csv", "a.csv"),
        (b"PK\x03\x04....[Content_Types].xml", "a.csv", "CSV UTF-8"),
        (b"abc", "a.docx", "不是 CSV 或 JSON Lines"),
        (b"x" * (1024 * 1024 + 1), "a.csv", "超过 1 MB"),
        (b"x" * (5 * 1024 * 1024), "a.csv", "超过 1 MB"),
    ],
)
def test_what_cannot_be_used_is_refused_at_once(editor, settings, content, name, said):
    settings.NEWSDEDUP_UPLOAD_MB = 1
    response = send(editor, content, name)
    assert response.status_code == 200
    assert said in response.content.decode()
    assert not Upload.objects.exists()


def test_a_form_without_a_file_says_so(editor):
    assert "请选择文件" in editor.post(reverse("upload_create")).content.decode()


def test_a_failed_upload_says_why_and_what_to_do(editor):
    upload = make_upload(state="failed", problem={"code": "columns", "missing": "content", "found": "名字"})
    page = shown(editor, upload)
    assert "今天.csv 缺少" in page
    assert "上传另一个文件" in page
    assert "再试一次" not in page


def test_trying_again(editor):
    upload = make_upload(state="failed", stored="x.csv", problem={"code": "unexpected", "error": "E"})
    assert "再试一次" in shown(editor, upload)
    editor.post(reverse("upload_retry", args=[upload.pk]))
    upload.refresh_from_db()
    assert upload.state == "waiting"
    response = editor.post(reverse("upload_retry", args=[upload.pk]), follow=True)
    assert "无法再读" in response.content.decode()


def test_rejects_come_as_a_file_for_editors(editor, as_role):
    send(editor)
    upload = Upload.objects.get()
    address = reverse("upload_rejects", args=[upload.pk])
    assert editor.get(address).status_code == 404
    uploads.import_upload(upload.pk)
    response = editor.get(address)
    assert "filename*=utf-8''" in response.headers["Content-Disposition"]
    assert "标题" in b"".join(response.streaming_content).decode("utf-8-sig")
    assert address in shown(editor, upload)
    viewer = as_role("viewer")
    assert address not in shown(viewer, upload)
    assert viewer.get(address).status_code == 403


def test_who_may_only_read_sees_no_form(viewer):
    assert '<form class="card"' not in viewer.get(reverse("upload_list")).content.decode()


def test_the_news_of_an_upload_with_its_duplicates(viewer):
    upload = make_upload()
    wanted = [make_news(upload=upload), make_news(upload=upload, verdict="duplicate")]
    make_news()
    response = viewer.get(reverse("news_list"), {"upload": upload.pk})
    assert {row.pk for row in response.context["page"].rows} == {news.pk for news in wanted}
    assert "只列出这次上传的稿件" in response.content.decode()
    assert f'name="upload" value="{upload.pk}"' in response.content.decode()
    assert viewer.get(reverse("news_list"), {"upload": "x" * 9}).status_code == 200


def test_one_and_three_uploads_cost_the_same(editor):
    make_upload(user=make_user("editor"), state="done")
    one = queries(editor, reverse("upload_list"))
    make_upload(user=make_user("editor"), state="failed", problem={"code": "empty"})
    make_upload(state="reading")
    assert queries(editor, reverse("upload_list")) == one


def test_hostile_names_are_shown_as_text(editor):
    upload = make_upload(
        name=HOSTILE, source=HOSTILE, state="failed", problem={"code": "columns", "found": HOSTILE}
    )
    make_news(upload=upload)
    for address in (
        reverse("upload_list"),
        reverse("upload_detail", args=[upload.pk]),
        reverse("news_list") + f"?upload={upload.pk}",
    ):
        page = editor.get(address).content.decode()
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "&lt;script&gt;" in page


def test_the_header_tells_the_state_of_the_queue(viewer):
    make_news(state="pending", verdict="")
    page = viewer.get(reverse("cluster_list")).content.decode()
    assert 'class="health ill"' in page
    assert "<span>队列 1</span><span>工作进程 0</span>" in page
    cache.clear()
    News.objects.update(state="done")
    assert 'class="health"' in viewer.get(reverse("cluster_list")).content.decode()


def test_the_header_costs_nothing_while_the_reading_is_fresh(viewer, django_assert_num_queries):
    one = queries(viewer, reverse("why"))
    make_news(state="pending")
    assert queries(viewer, reverse("why")) == one
