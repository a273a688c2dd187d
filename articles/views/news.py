from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from articles import selectors
from articles.forms import NewsFilter
from articles.models import News
from articles.views.pages import may, render_list

# Of one text; a page of megabytes would stop the browser.
TEXT_SHOWN = 50_000


@require_safe
@may("view_news")
def news_list(request: HttpRequest) -> HttpResponse:
    form = NewsFilter(request.GET)
    rows = selectors.news_list(**form.chosen)
    context = {
        "form": form,
        "page": selectors.read_page(
            rows, "published_at", request.GET.get("after", ""), request.GET.get("before", "")
        ),
        "count": selectors.count(rows),
        "sources": selectors.sources(),
        "upload": selectors.find_upload(form.chosen.get("upload")),
        "search_rows": selectors.SEARCH_ROWS,
    }
    return render_list(request, "articles/news_list.html", "articles/_news_rows.html", context)


@require_safe
@may("view_news")
def news_detail(request: HttpRequest, pk: int) -> HttpResponse:
    news = selectors.get_news(pk)
    shown, text = _text(news, request.GET.get("text", ""))
    context = {
        "news": news,
        "shown": shown,
        "text": text[:TEXT_SHOWN],
        "cut": TEXT_SHOWN if len(text) > TEXT_SHOWN else 0,
        "length": len(text),
        "safe_url": news.url.startswith(("http://", "https://")),
        "links": selectors.links_of(news),
        "decisions": selectors.decisions_on(news),
        "sketch": list(news.shingles.order_by("hash").values_list("hash", flat=True)[:64]),
    }
    return render(request, "articles/news_detail.html", context)


def _text(news: News, wanted: str) -> tuple[str, str]:
    """Which text is shown: as people read it, as it was judged, or as it came in to the last character."""
    if wanted == "source":
        return "source", news.content
    if wanted == "clean":
        return "clean", news.text.body if hasattr(news, "text") else ""
    return "raw", selectors.readable(news.content)
