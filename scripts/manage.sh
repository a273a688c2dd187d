#!/usr/bin/env bash
# manage.py with the same data and the same key as "make demo" and "make run":
#
#   scripts/manage.sh import_news my.csv
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh
exec python manage.py "$@"
