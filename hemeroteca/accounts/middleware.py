"""Keeps the list of sessions true: which browser somebody is signed in with, and when it was last seen."""

from django.core.cache import cache
from django.http import HttpRequest, HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

SEEN_SECONDS = 600  # a page must not become a write each time


class SeenSessions(MiddlewareMixin):
    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        # Only for who has a cookie: strangers and programs have no session to look for.
        key = request.session.session_key if hasattr(request, "session") and request.session.accessed else None
        if key and request.user.is_authenticated and cache.add(f"seen:{key}", True, SEEN_SECONDS):
            from allauth.usersessions.models import UserSession

            UserSession.objects.create_from_request(request)
        return response
