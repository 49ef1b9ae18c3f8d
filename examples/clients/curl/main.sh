#!/usr/bin/env bash
# Needs curl 7.84 or later.
set -euo pipefail
api="${PETSTORE_URL:-http://127.0.0.1:3000/v1}"

call() { curl --silent --show-error --header "Authorization: Bearer $PETSTORE_KEY" "$@"; }

new_key() { od -An -N 16 -t x1 /dev/urandom | tr -d ' \n'; }

# create IDEMPOTENCY_KEY PET: adds an animal. Sends the same key with every attempt, so the service adds one animal.
# curl tries again after a lost connection, 408, 429 and 5xx. It waits as long as Retry-After says.
create() {
  call "$api/pets" --retry 4 --retry-all-errors \
    --header "Idempotency-Key: $1" --json "$2" --write-out '\n'
}

# Prints every page. A small limit, to see pages. At most 100.
list() {
  local page cursor=''
  while
    page="$(call --get "$api/pets" --data limit=2 ${cursor:+--data "cursor=$cursor"} \
      --write-out '\ncursor=%header{next-cursor}')"
    echo "${page%$'\n'cursor=*}"
    cursor="${page##*cursor=}"
    [[ -n "$cursor" ]]
  do :; done
}

create "$(new_key)" '{"name": "Rex", "categoryId": 9223372036854775807}'
create "$(new_key)" '{"name": "Mia", "categoryId": 2, "status": "sold"}'
create "$(new_key)" '{"name": "Tom", "categoryId": 3}'
create "$(new_key)" '{"name": "Ada", "categoryId": 4}'
create the-key-of-kit '{"name": "Kit", "categoryId": 5}'

list

# An error is JSON too: {"code", "message", "status"}.
create the-key-of-kit '{"name": "Not Kit", "categoryId": 5}'
