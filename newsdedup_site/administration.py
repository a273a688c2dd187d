from django.contrib.admin import AdminSite
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _


class Site(AdminSite):
    """The administration; for chiefs and administrators, whatever staff flag a user may have."""

    site_header = site_title = _("News de-duplication")
    index_title = _("Administration")
    # Its room belongs to the lists.
    enable_nav_sidebar = False

    def has_permission(self, request: HttpRequest) -> bool:
        return super().has_permission(request) and request.user.has_perm("articles.change_news")
