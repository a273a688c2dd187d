"""Uploading a file, watching it being read and judged, and what came of it."""

from typing import cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from articles import selectors
from articles.forms import UploadForm
from articles.models import Upload
from articles.services import health, uploads
from articles.services.readers import FileProblemError
from articles.views.pages import may, render_list


# The form of a page that the browser kept has been used already.
@never_cache
@require_safe
@may("view_upload")
def upload_list(request: HttpRequest) -> HttpResponse:
    return _list(request, UploadForm())


@require_POST
@may("add_upload")
def upload_create(request: HttpRequest) -> HttpResponse:
    form = UploadForm(request.POST, request.FILES)
    if not form.is_valid():
        return _list(request, form)
    given = form.cleaned_data
    try:
        upload = uploads.receive(given["file"], cast(User, request.user), given["source"], given["form"])
    except FileProblemError as error:
        error.params["path"] = given["file"].name
        form.add_error("file", str(error))
        return _list(request, form)
    return redirect("upload_detail", upload.pk)


@require_safe
@may("view_upload")
def upload_detail(request: HttpRequest, pk: int) -> HttpResponse:
    upload = selectors.get_upload(pk)
    tally = uploads.tally(upload)
    context = {
        "upload": upload,
        "tally": tally,
        "read": upload.read_bytes / max(upload.total_bytes, 1),
        "working": not upload.is_finished or tally["judged"] < tally["articles"],
        "stalled": uploads.JOBS.is_stalled(upload),
        "problem": uploads.problem_text(upload),
        "retriable": uploads.may_retry(upload),
        "rejects": uploads.rejects_file(upload),
        "health": health.reading(),
    }
    return render_list(request, "articles/upload_detail.html", "articles/_upload.html", context)


@require_safe
@may("add_upload")
def upload_rejects(request: HttpRequest, pk: int) -> FileResponse:
    upload = selectors.get_upload(pk)
    path = uploads.rejects_file(upload)
    if path is None:
        raise Http404
    return FileResponse(path.open("rb"), as_attachment=True, filename=f"{upload.name}.rejects.csv")


@require_POST
@may("add_upload")
def upload_retry(request: HttpRequest, pk: int) -> HttpResponse:
    upload = selectors.get_upload(pk)
    if not uploads.retry(upload.pk):
        messages.error(request, _("This upload cannot be read again: upload the file once more."))
    return redirect("upload_detail", upload.pk)


def _list(request: HttpRequest, form: UploadForm) -> HttpResponse:
    rows = selectors.upload_list()
    context = {
        "form": form,
        "page": selectors.read_page(
            rows, "created_at", request.GET.get("after", ""), request.GET.get("before", "")
        ),
        "count": selectors.count(rows),
        "sources": selectors.sources(),
        "limit": settings.NEWSDEDUP_UPLOAD_MB,
        "days": settings.NEWSDEDUP_UPLOAD_DAYS,
        "states": Upload.State,
    }
    return render(request, "articles/upload_list.html", context)
