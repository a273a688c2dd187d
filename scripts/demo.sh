#!/usr/bin/env bash
# Shows the whole way of the news: set up, import samples/news.csv, judge them with a real worker, print
# the clusters. Then it stays until Ctrl-C, and what is imported meanwhile is judged too.
#
#   CHECK=1 scripts/demo.sh    ends with 0 once the work is done
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
. scripts/env.sh

LOG="$NEWSDEDUP_VAR/demo.log"
LIMIT=300
PROCESSES=

main() {
    trap stop EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    python manage.py migrate --noinput -v 0
    python manage.py import_news samples/news.csv
    start worker beat
    wait_until_judged
    python manage.py show_clusters
    [ -z "${CHECK:-}" ] || exit 0
    echo "demo: worker and beat go on until Ctrl-C; their log is $LOG"
    wait "$PROCESSES"
}

# Starts processes of the Procfile behind this script.
start() {
    scripts/processes.py start "$@" >"$LOG" 2>&1 &
    PROCESSES=$!
}

# Also the end by an error or a signal comes here: nothing that was started is left behind.
stop() {
    local status=$?
    trap - EXIT HUP INT TERM
    if [ -n "$PROCESSES" ]; then
        kill "$PROCESSES" 2>/dev/null || true
        wait "$PROCESSES" 2>/dev/null || true
    fi
    exit "$status"
}

wait_until_judged() {
    local end=$((SECONDS + LIMIT)) left
    while left=$(pending) && [ "$left" -gt 0 ]; do
        kill -0 "$PROCESSES" 2>/dev/null || fail "the worker ended"
        [ "$SECONDS" -lt "$end" ] || fail "after $LIMIT seconds $left articles still wait"
        sleep 0.5
    done
}

pending() {
    python manage.py shell --no-imports -c \
        'from articles.models import News; print(News.objects.filter(state=News.State.PENDING).count())'
}

fail() {
    tail -n 30 "$LOG" >&2
    echo "demo: ERROR: $1. Above is the end of $LOG" >&2
    exit 1
}

main
