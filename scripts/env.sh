# Sourced by the scripts beside it: the environment in which the application's processes run.
# Each value that is already set stays as it is.
PATH="$PWD/.venv/bin:$PATH"
NEWSDEDUP_VAR=${NEWSDEDUP_VAR:-$PWD/var}
PORT=${PORT:-8000}
mkdir -p "$NEWSDEDUP_VAR"

# The key is made once and kept: a new one at each start would log everybody out.
if [ -z "${SECRET_KEY:-}" ]; then
    if [ ! -s "$NEWSDEDUP_VAR/secret_key" ]; then
        (umask 077 && python -c 'import secrets; print(secrets.token_urlsafe(50))' >"$NEWSDEDUP_VAR/secret_key")
    fi
    SECRET_KEY=$(cat "$NEWSDEDUP_VAR/secret_key")
fi

# Log lines shall appear when they are written, also through a pipe.
PYTHONUNBUFFERED=1
export PATH NEWSDEDUP_VAR PORT SECRET_KEY PYTHONUNBUFFERED
