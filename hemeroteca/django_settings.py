"""Django's settings, made from `hemeroteca.config`. Nothing is configured here that a person should change."""

from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

from hemeroteca import config
from hemeroteca.config import mail_server
from hemeroteca.instance import Instance

CONFIG = config.load()
INSTANCE = Instance(CONFIG.data)

SECRET_KEY = INSTANCE.secret_key()
DEBUG = False
ALLOWED_HOSTS = ["*"]  # the address guard against rebinding is console.middleware.HostCheck
USE_TZ = True
TIME_ZONE = "UTC"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# What has tables for the machinery: all that the engine and a crawl load (`instance.schema.load_machinery`).
MACHINERY = [
    "hemeroteca.accounts",
    "hemeroteca.jobs",
    "hemeroteca.frontier",
    "hemeroteca.archive",
    "hemeroteca.watch",
    "hemeroteca.geo",
    "hemeroteca.wiki",
    "hemeroteca.fleet",
]
INSTALLED_APPS = [
    "hemeroteca.console",  # first: its templates and its Spanish (tú) stand in front of theirs
    "django.contrib.admin.apps.SimpleAdminConfig",  # `console.routes` looks for what it shows
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    *MACHINERY,
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
]

LOGGING_CONFIG = None  # what Django logs goes where everything goes; its own setting loads its views and mail

# where the kinds of job are: imported when a job is ordered or run
JOB_MODULES = [f"hemeroteca.{room}.job_kinds" for room in ("archive", "watch", "geo", "wiki", "fleet", "engine")]


def _database(address: str) -> dict[str, object]:
    if not address:
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": INSTANCE.database_path,
            "CONN_MAX_AGE": 60,  # opening it anew with its pragmas costs more than what most requests do with it
            "OPTIONS": {
                "timeout": 60,
                "transaction_mode": "IMMEDIATE",
                "init_command": (
                    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-32000; "
                    "PRAGMA temp_store=MEMORY; PRAGMA mmap_size=0; PRAGMA foreign_keys=ON;"
                ),
            },
        }
    parts = urlsplit(address)
    if parts.scheme not in ("postgresql", "postgres"):
        raise config.ConfigError(
            f"setting `database` has the scheme {parts.scheme!r}; write postgresql://user:password@host/name"
        )
    query = dict(pair.split("=", 1) for pair in parts.query.split("&") if "=" in pair)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(query.get("host", parts.hostname or "")),
        "PORT": parts.port or "",
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
    }


DATABASES = {"default": _database(CONFIG.database)}

if CONFIG.registration not in config.REGISTRATION:
    raise config.ConfigError(
        f"setting `registration` is {CONFIG.registration!r}; it must be {', '.join(config.REGISTRATION)}"
    )
if CONFIG.registration_role not in ("reader", "subscriber"):
    raise config.ConfigError(
        f"setting `registration_role` is {CONFIG.registration_role!r}; it must be reader or subscriber"
    )

SILENCED_SYSTEM_CHECKS = ["fields.W163", "models.W046"]  # SQLite keeps no comments; PostgreSQL does

MIDDLEWARE = [
    "hemeroteca.api.problems.ProblemsOnly",
    "hemeroteca.console.middleware.HostCheck",
    "hemeroteca.console.middleware.WithoutNul",
    "hemeroteca.console.middleware.SecurityHeaders",
    "hemeroteca.console.middleware.RefusedPages",
    "django.middleware.security.SecurityMiddleware",
    "hemeroteca.console.middleware.CompressedPages",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "hemeroteca.console.middleware.ReaderDisplay",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "hemeroteca.accounts.middleware.SeenSessions",
]
ROOT_URLCONF = "hemeroteca.django_urls"
WSGI_APPLICATION = "hemeroteca.console.wsgi.application"
# Ninja's copy of Swagger UI, so that the API's page needs no CDN. As an installed app it would be imported by every
# process, and half of Django with it.
_ninja = find_spec("ninja")
NINJA = Path((_ninja and _ninja.origin) or "ninja").parent
# The same for Leaflet, which draws the maps.
_leaflet = find_spec("leaflet")
LEAFLET = Path((_leaflet and _leaflet.origin) or "leaflet").parent
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [NINJA / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "hemeroteca.console.context.shared",
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
AUTH_USER_MODEL = "accounts.User"
LOGIN_URL = "/sign-in"
LOGIN_REDIRECT_URL = "/"
CSRF_FAILURE_VIEW = "hemeroteca.console.error_pages.csrf_failure"
# scrypt needs memory rather than time: as strong, and a sign-in on a Raspberry Pi does not take seconds.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.ScryptPasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

# django-allauth: registration, recovery, change of address, two-factor sign-in (`accounts.adapter`)
MAIL = mail_server(CONFIG)
EMAIL_HOST, EMAIL_PORT, EMAIL_USE_TLS, EMAIL_USE_SSL = MAIL.host, MAIL.port, MAIL.starttls, MAIL.tls
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD, DEFAULT_FROM_EMAIL, EMAIL_TIMEOUT = MAIL.user, MAIL.password, MAIL.sender, 20
ACCOUNT_ADAPTER = "hemeroteca.accounts.adapter.Adapter"
ACCOUNT_FORMS = {"signup": "hemeroteca.accounts.adapter.Registration"}
ACCOUNT_USER_MODEL_USERNAME_FIELD = "name"
ACCOUNT_LOGIN_METHODS = {"username", "email"}
# Without mail an address can be neither confirmed nor written to; one that is refused would tell who has an account.
ACCOUNT_SIGNUP_FIELDS = ["username*", *(["email*"] if CONFIG.mail_server else []), "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "mandatory" if CONFIG.mail_server else "none"
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_EMAIL_SUBJECT_PREFIX = "[Hemeroteca] "
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False  # nobody sends mail to strangers through us
ACCOUNT_CHANGE_EMAIL = True
ACCOUNT_PRESERVE_USERNAME_CASING = False
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_RATE_LIMITS = {
    "signup": "10/h/ip", "reset_password": "10/h/ip,3/h/key", "reset_password_from_key": "20/m/ip",
    "manage_email": "10/h/user", "confirm_email": "1/3m/key", "reauthenticate": "10/m/user",
    "login_failed": "10/m/ip,5/5m/key",
}  # fmt: skip
MFA_ADAPTER = "hemeroteca.accounts.adapter.TwoFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
# Else who has a second factor could never change their address. Nobody comes in by one that is not confirmed.
MFA_ALLOW_UNVERIFIED_EMAIL = True
CACHES = {  # in each web process: limits, and pieces of pages that are dear to make
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "OPTIONS": {"MAX_ENTRIES": 20_000}},
    "figures": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "figures",
        "TIMEOUT": 60,
        "OPTIONS": {"MAX_ENTRIES": 200},
    },
}
LANGUAGE_CODE = "en"
LANGUAGES = [("es", "Español"), ("en", "English")]
LANGUAGE_COOKIE_NAME = "hemeroteca_language"
LANGUAGE_COOKIE_SAMESITE = "Lax"
STATIC_URL = "/static/"
STATICFILES_DIRS = [NINJA / "static", LEAFLET / "static"]
WHITENOISE_USE_FINDERS = True  # served from the installed packages; nothing to collect
WHITENOISE_MAX_AGE = 3600
WHITENOISE_ALLOW_ALL_ORIGINS = False
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

if CONFIG.public_url.startswith("https://"):
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    SECURE_HSTS_SECONDS = 365 * 86_400
    # Replay may live beside us (replay.example.org): browsers refuse these names with a Domain, so that no archived
    # script can set one for us.
    SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "__Host-sessionid", "__Host-csrftoken"
    CSRF_TRUSTED_ORIGINS = [CONFIG.public_url.rstrip("/")]
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
