from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from articles import selectors
from articles.forms import TextForm, comparison_options
from articles.models import News
from articles.services import similar as services
from articles.views.pages import may


@require_safe
@may("view_news")
def similar(request: HttpRequest) -> HttpResponse:
    """What is like a stored article, or an empty form for a text of one's own."""
    context: dict[str, object] = {"form": TextForm()}
    number = request.GET.get("news", "")
    if number.isascii() and number.isdigit() and len(number) < 19:
        news = selectors.get_news(int(number))
        context |= {"news": news, "found": services.similar_to_news(news)}
    return render(request, "articles/similar.html", context)


@require_POST
@may("view_news")
def similar_text(request: HttpRequest) -> HttpResponse:
    """What is like a text of one's own; `right` chooses one of these to stand beside it."""
    form = TextForm(request.POST)
    context: dict[str, object] = {"form": form}
    if form.is_valid():
        title, content = form.cleaned_data["title"], form.cleaned_data["content"]
        found = services.similar_to_text(title, content)
        named = (*found.alike, *found.meant)
        chosen = [similar for similar in named if str(similar.news.pk) == request.POST.get("right")]
        context |= {"found": found}
        if chosen:
            verdict = chosen[0].verdict
            context |= {
                "chosen": chosen[0],
                "comparison": selectors.side_by_side(
                    News(title=title, content=content),
                    chosen[0].news,
                    comparison_options(request.GET)["ignore"],
                    reasons=verdict.reasons,
                ),
            }
    return render(request, "articles/similar.html", context)
