"""Every address of the web process: the pages of the console and the routes of the API."""

from hemeroteca.api import routes as api
from hemeroteca.console import error_pages
from hemeroteca.console import routes as console

urlpatterns = [*console.urlpatterns, *api.urlpatterns]
handler400 = error_pages.bad_request
handler403 = error_pages.forbidden
handler404 = error_pages.not_found
handler500 = error_pages.failed
