"""The web application, for waitress or any other WSGI server."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hemeroteca.django_settings")
application = get_wsgi_application()
