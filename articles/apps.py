from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ArticlesConfig(AppConfig):
    name = "articles"
    verbose_name = _("News de-duplication")

    def ready(self) -> None:
        from articles import checks, receivers  # noqa: F401
