"""Every setting of the site, read from the environment through env.py; docs/operations.md lists them."""

import os
from pathlib import Path
from typing import Any

import django_stubs_ext
from csp.constants import NONCE, NONE, SELF

from config.env import Env, EnvError
from config.files import PRIVATE_UMASK, close_folder, make_folder
from config.listening import listening_address
from config.logs import logging_config

django_stubs_ext.monkeypatch()  # lets classes of Django name their type: ModelAdmin[Item]

os.umask(PRIVATE_UMASK)  # every command, server and worker reads settings before it makes a file
env = Env(os.environ)
BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = env.folder("VAR_DIR", BASE_DIR / "var", writable=True)
close_folder(VAR_DIR)

# The site
DEBUG = env.flag("DEBUG", False)
SECRET_KEY = env.secret("SECRET_KEY", VAR_DIR / "secret_key")
# Participants' own codes are kept under it (docs/decisions/0019-withdrawal-codes.md): it outlives the key above
WITHDRAWAL_KEY = env.secret("WITHDRAWAL_KEY", VAR_DIR / "withdrawal_key")
ALLOWED_HOSTS = env.hosts("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
PORT = env.integer("PORT", 8000, minimum=1, maximum=65535)
HTTPS = env.flag("HTTPS", False)  # the site is behind TLS
BASE_URL = env.url(
    "BASE_URL", f"http://127.0.0.1:{PORT}"
)  # in links for people, on pages and in what commands print
ONE_ROOM = env.flag("ONE_ROOM", False)  # all participants can open these, wherever they lead
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "experiment.apps.AdministrationConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.forms",  # its widgets' templates, beside ours
    "csp",
    "drf_spectacular",
    "django_countries",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "django_otp.plugins.otp_static",
    "lib",
    "lib.jobs",
    "experiment.apps.ExperimentConfig",
    "scoring.apps.ScoringConfig",
    "analysis.apps.AnalysisConfig",
]

MIDDLEWARE = [
    "lib.monitoring.middleware.Observe",
    # Outside of the rest: what the others answer themselves carries the policies too
    "config.policies.SetPolicies",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "config.middleware.RejectMalformedRequests",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "experiment.lab.access.EndOldSessions",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_otp.middleware.OTPMiddleware",
    "experiment.lab.access.ReadFilesInTurn",
    "django.contrib.messages.middleware.MessageMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    ["lib.wrapped.Loader", "django.template.loaders.app_directories.Loader"],
                )
            ],
            "builtins": ["lib.templatetags.panels", "lib.templatetags.scripts"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

FORM_RENDERER = "django.forms.renderers.TemplatesSetting"

# The database: docs/decisions/0001-database-settings.md says why these values
_database: dict[str, Any] = env.database("DATABASE_URL", VAR_DIR / "brainbench.sqlite3")
_lock_s, _statement_s = env.database_limits()
_database["MOST_TRANSACTIONS"] = env.most_transactions()  # lib/fast/places.py
_database["CONN_MAX_AGE"] = env.integer("DATABASE_CONN_MAX_AGE", 60)
if _database["ENGINE"].endswith("sqlite3"):
    _database["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": _lock_s or 30,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
    }
else:
    _database["CONN_HEALTH_CHECKS"] = True
    # Of several options the last one counts: a page's limits stand behind those of the URL, a command's 0 before them
    _limits = f"-c lock_timeout={_lock_s}s -c statement_timeout={_statement_s}s"
    _options = [_database["OPTIONS"].pop("options", ""), _limits]
    if not env.flag("SERVES_PAGES", False):
        _options.reverse()
    _database["OPTIONS"] = {
        "connect_timeout": 5,  # seconds
        "tcp_user_timeout": 10_000,  # ms without an answer after which a connection counts as cut
        "options": " ".join(_options).strip(),
    } | _database["OPTIONS"]
    # For lib.fast.postgres alone; Django's own cursors prepare nothing
    _database["OPTIONS"]["prepare_threshold"] = 0 if env.flag("DATABASE_PREPARE", True) else None
DATABASES = {"default": _database}
DATABASE_READER = "config.env.parse_database_url"  # of a URL that a command is given

# Background jobs: docs/models.md says how to run workers
JOB_EXECUTOR = env.choice("JOB_EXECUTOR", "inline", ("inline", "celery"))
# Without a heartbeat for so long, another worker may take the job
JOB_STALE_SECONDS = env.integer("JOB_STALE_SECONDS", 60, minimum=1)
# Whose jobs workers of this machine take. Trainings keep a machine for hours: a worker of Celery's is told to take them
_APPS = ("experiment", "scoring", "analysis")
_QUEUES = (*_APPS, "training")
JOB_APPS = env.names(
    "JOB_APPS", list(_APPS if JOB_EXECUTOR == "celery" else _QUEUES), choices=_QUEUES
)
CELERY_APP = "config.celery.app"  # imported when a message is sent
CELERY_BROKER_URL = env.broker("CELERY_BROKER_URL", "redis://127.0.0.1:6379/0")
# Functions that a worker calls once a day
DAILY_CHORES = [
    "experiment.services.chores.forget_overdue_ids",
    "experiment.services.chores.forget_old_attempts",
    "experiment.services.chores.forget_old_arrivals",
    "experiment.services.chores.forget_old_uploads",
    "experiment.services.chores.forget_ended_sessions",
    "experiment.services.chores.check_counters",
]

# Folders of this server that pages may name: models to score, data to import
MODELS_DIR = env.folder("MODELS_DIR", VAR_DIR / "models")
IMPORTS_DIR = env.folder("IMPORTS_DIR", VAR_DIR / "imports")
# What training reads and writes: on every machine that trains, the same folders
CORPORA_DIR = env.folder("CORPORA_DIR", VAR_DIR / "corpora")
TRAININGS_DIR = env.folder("TRAININGS_DIR", VAR_DIR / "trainings")

# Scoring
# Models' servers to which texts may be sent, and the keys that go to them, each to its own
SCORING_HOSTS = env.servers("SCORING_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
SCORING_API_KEYS = env.server_keys("SCORING_API_KEYS", "SCORING_API_KEY", SCORING_HOSTS)
# The Python that has Inspect, which asks models of providers
INSPECT_PYTHON = env.text("INSPECT_PYTHON", str(VAR_DIR / "inspect/bin/python"))

# Literature: the only host that `corpus fetch` asks
ENTREZ_URL = env.url("ENTREZ_URL", "https://eutils.ncbi.nlm.nih.gov/entrez/eutils")
ENTREZ_API_KEY = env.key_for("ENTREZ_API_KEY", "ENTREZ_URL", ENTREZ_URL)
ENTREZ_EMAIL = env.text("ENTREZ_EMAIL", "")

# People
_VALIDATION = "django.contrib.auth.password_validation"
AUTH_PASSWORD_VALIDATORS: list[dict[str, Any]] = [
    {"NAME": f"{_VALIDATION}.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": f"{_VALIDATION}.UserAttributeSimilarityValidator"},
    {"NAME": f"{_VALIDATION}.CommonPasswordValidator"},
    {"NAME": f"{_VALIDATION}.NumericPasswordValidator"},
]
# The first makes new ones; who has one of the second gets one of the first when they sign in
PASSWORD_HASHERS = [
    "config.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
# Whoever signs in must have set up codes of an app, as a second step
REQUIRE_TOTP = env.flag("REQUIRE_TOTP", False)
OTP_TOTP_ISSUER = "BrainBench Live"
OTP_ADMIN_HIDE_SENSITIVE_DATA = True  # keys and codes are their owner's
LOGIN_URL = "lab:sign_in"
LOGIN_REDIRECT_URL = "lab:studies"
LOGOUT_REDIRECT_URL = "lab:sign_in"
SESSION_ENGINE = "lib.sessions"
SESSION_COOKIE_AGE = 14 * 24 * 3600  # of those who sign in; participants have a cookie of their own
# Participants: longer than any study's return window, so that a late returner is known for what they are
PARTICIPANT_COOKIE_AGE = 365 * 24 * 3600
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"  # no cookie of its own
CSRF_COOKIE_HTTPONLY = True  # pages send the token as a form field, scripts need no cookie
CSRF_TRUSTED_ORIGINS = env.origins("CSRF_TRUSTED_ORIGINS")
CSRF_FAILURE_VIEW = "experiment.participant.problems.csrf_failure"

# What a browser may do with a page: docs/decisions/0022-browser-policies.md. A finish POST may lead to a recruitment site's
# completion page, and browsers hold redirects of a form to form-action: hence https: there.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [NONCE],
        "require-trusted-types-for": ["'script'"],
        "trusted-types": ["own-pages"],  # static/js/html.js
        "object-src": [NONE],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF, "https:"],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
        "report-uri": ["/csp-reports"],
    },
}
# Django's administration has scripts of its own, which know no nonces
ADMIN_SECURITY_POLICY = {
    "script-src": [SELF],
    "require-trusted-types-for": None,
    "trusted-types": None,
}
PERMISSIONS_POLICY = (
    "camera=(), display-capture=(), geolocation=(), microphone=(), midi=(), payment=(), usb=()"
)
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
DATA_UPLOAD_MAX_MEMORY_SIZE = (
    1024 * 1024
)  # bytes; the longest answer is a comment of 5,000 characters
UPLOAD_MAX_SIZE = (
    32 * 1024 * 1024
)  # bytes of a request with its files; a study's file may have 16 MB
DATA_UPLOAD_MAX_NUMBER_FIELDS = 5000  # the admin sends a field per pinned test case

# Where participants may be sent at the end, these and all hosts below them
RECRUITMENT_HOSTS = env.names(
    "RECRUITMENT_HOSTS", ["prolific.com", "prolific.co", "sona-systems.com", "mturk.com"]
)

# Programs ask with access tokens, and with nothing else: no cookie, no page to browse
API_REQUESTS_PER_MINUTE = env.integer("API_REQUESTS_PER_MINUTE", 600, minimum=1)  # of one token
API_ANONYMOUS_PER_MINUTE = env.integer("API_ANONYMOUS_PER_MINUTE", 60, minimum=1)  # of an address
REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],  # lib/api/views.py says what views are
    "DEFAULT_SCHEMA_CLASS": "lib.api.schema.Schema",
    "EXCEPTION_HANDLER": "lib.api.problems.handle",
    "URL_FORMAT_OVERRIDE": None,
    # How many proxies add to X-Forwarded-For; with 0 it is not believed, whoever sends it
    # TLS is ended by one. With 0, one who mistypes often enough would lock out everybody behind it
    "NUM_PROXIES": env.integer("NUM_PROXIES", int(HTTPS), minimum=0),
}
# Where gunicorn listens, as config/listening.py reads it; experiment/checks.py asks for both
try:
    LISTENS_AT, LISTENING_PROBLEM = listening_address(env), ""
except EnvError as error:  # gunicorn's to refuse: commands and other servers need no address
    LISTENS_AT, LISTENING_PROBLEM = "", str(error)
NUM_PROXIES_IS_SAID = bool(env.text("NUM_PROXIES", ""))
SPECTACULAR_SETTINGS = {
    "TITLE": "BrainBench Live",
    "DESCRIPTION": "Studies, test cases, trials, models' scores and results; docs/api.md.",
    "VERSION": None,  # lib/api/schema.py says it
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "SERVE_INCLUDE_SCHEMA": False,
    # None for enumerations: choices stand where they are used, since several fields are called kind
    "POSTPROCESSING_HOOKS": ["lib.api.schema.add_version"],
}

# Once the site is behind TLS everything is redirected there, and browsers remember it
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [
    r"^healthz(/[a-z]+)?\Z",
    r"^metrics\Z",
]  # asked by load balancers, from inside
SECURE_HSTS_SECONDS = env.integer("HSTS_SECONDS", 365 * 24 * 3600) if HTTPS else 0
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
# Browsers let nobody but this host, over TLS, set such names; for the whole site then. Lax, not Strict: who comes by a
# link from a recruitment site is to be known at once
COOKIE_PREFIX = "__Host-" if HTTPS else ""
SESSION_COOKIE_NAME = f"{COOKIE_PREFIX}sessionid"
CSRF_COOKIE_NAME = f"{COOKIE_PREFIX}csrftoken"
# A study's host must not decide for its university's other names: no includeSubDomains, no preload.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]

# Static files: hashed copies made by collectstatic, or the sources themselves while developing
STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = VAR_DIR / "static"
STATIC_HASHED = env.flag("STATIC_HASHED", not DEBUG)
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = not STATIC_HASHED
WHITENOISE_ALLOW_ALL_ORIGINS = False
if STATIC_HASHED:
    make_folder("VAR_DIR", STATIC_ROOT)
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},  # nothing is uploaded
    "staticfiles": {
        "BACKEND": "config.storage.HashedStaticFilesStorage"
        if STATIC_HASHED
        else "django.contrib.staticfiles.storage.StaticFilesStorage",
        # No secrets: another user may have collected them, root for one
        "OPTIONS": {"directory_permissions_mode": 0o755, "file_permissions_mode": 0o644},
    },
    # Files that every machine of the site must see
    "token_records": env.storage("FILES_URL", VAR_DIR, "scoring"),
    "results": env.storage("FILES_URL", VAR_DIR, "results"),
    "withdrawals": env.storage("FILES_URL", VAR_DIR, "withdrawals"),
}

# Words and times
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True
LANGUAGES_BIDI = ["ar", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"]  # studies in these

LOGGING = logging_config(env)
# Requests that take longer are noted in the log; 0: none
SLOW_REQUEST_SECONDS = env.integer("SLOW_REQUEST_SECONDS", 5)

# Numbers for Prometheus, and /healthz/deep, for who sends this; without it there is neither
METRICS_TOKEN = env.token("METRICS_TOKEN")
# Where gunicorn's processes add theirs up: config/gunicorn.py makes it
METRICS_DIR = env.text("PROMETHEUS_MULTIPROC_DIR", "")
# Functions that read more from the database
METRICS = ["experiment.services.chores.of_people"]
