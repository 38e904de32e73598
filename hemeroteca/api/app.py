"""All operations of the API, with the room each comes from."""

from typing import Any

from ninja import NinjaAPI, Swagger
from ninja.openapi.docs import ABS_TPL_PATH

from hemeroteca import __version__
from hemeroteca.api import (
    access,
    captures,
    crawls,
    history,
    jobs,
    pages,
    preferences,
    problems,
    search,
    searches,
    signals,
    sites,
    status,
    watch,
)


class Docs(Swagger):
    """Swagger UI from ninja's own files, not from a CDN, without ninja among the installed apps."""

    template_cdn = str(ABS_TPL_PATH / "swagger.html")


class Api(NinjaAPI):
    def get_openapi_schema(self, *args: Any, **kwargs: Any) -> Any:
        """Ninja's description, with the one answer that every operation may give: a problem."""
        schema = super().get_openapi_schema(*args, **kwargs)
        schema["components"].setdefault("schemas", {})["Problem"] = problems.SCHEMA
        answer = {
            "description": "Why it was not done.",
            "content": {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for operations in schema["paths"].values():
            for operation in operations.values():
                operation["responses"]["default"] = answer
        return schema


api = Api(
    title="Hemeroteca",
    version=__version__,
    description="Search the archive, order crawls, and read what was captured. Times are UTC. Errors are RFC 9457 "
    "problem details. Lists are cut by `limit` and go on with `cursor`.",
    urls_namespace="api",
    docs=Docs(settings={"persistAuthorization": False, "validatorUrl": None}),
    auth=access.reader,
)
problems.install(api)
api.add_router("", search.router, tags=["search"])
api.add_router("", status.router, tags=["status"])
api.add_router("/crawls", crawls.router, tags=["crawls"])
api.add_router("/jobs", jobs.router, tags=["jobs"])
api.add_router("/pages", pages.router, tags=["pages"])
api.add_router("/captures", captures.router, tags=["captures"])
api.add_router("/watch", watch.router, tags=["watch"])
api.add_router("/signals", signals.router, tags=["signals"])
api.add_router("/sites", sites.router, tags=["sites"])
api.add_router("/history", history.router, tags=["history"])
api.add_router("/searches", searches.router, tags=["search"])
api.add_router("/preferences", preferences.router, tags=["search"])
