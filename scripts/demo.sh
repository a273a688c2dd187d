#!/usr/bin/env bash
# From nothing to the running site: sets up, imports samples/news.csv, has them judged by a real worker, and
# prints the address, the log-ins and what to look at first. It stays until Ctrl-C; a later run keeps all data.
#
#   PORT=8123 scripts/demo.sh    another port than 8000 or the next free one
#   CHECK=1 scripts/demo.sh      ends with 0 once the site has shown the sample clusters over HTTP
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh

# The demo is of this machine alone: another installation's database and names are left in peace.
unset DATABASE_URL CELERY_BROKER_URL DEBUG ALLOWED_HOSTS CSRF_TRUSTED_ORIGINS HTTPS BEHIND_PROXY HOST NEWSDEDUP_SEMANTIC
DEMO_PORT=${PORT:-}
. scripts/env.sh
export DEMO_PORT CHECK=${CHECK:-}
exec python scripts/demo.py
