#!/usr/bin/env bash
# Starts web, worker and beat as the Procfile says, until Ctrl-C. "make run" sets up first.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh

python manage.py migrate --noinput
python manage.py collectstatic --noinput -v 0
# When one process ends, all the others are ended too.
exec scripts/processes.py start
