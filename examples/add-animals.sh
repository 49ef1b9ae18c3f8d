#!/usr/bin/env bash
# Adds the 300 animals of pets.ndjson through the API, while the service runs:
#   URL=http://127.0.0.1:3000/v1 KEY=the-key bash examples/add-animals.sh
# The service assigns their ids. Running it again adds nothing, because each animal has its own Idempotency-Key.
# It ends at the first failure, and says which animal that is.
set -euo pipefail
: "${URL:?}" "${KEY:?}"
cd "$(dirname "$0")"

# A curl configuration with a request for each line: `\` and `"` are escaped in it. What comes back are the headers.
requests() {
  while IFS= read -r line; do
    number="${line#*:}"
    number="${number%%,*}"
    animal="{${line#*,}"
    animal="${animal//\\/\\\\}"
    cat <<EOF
url = "$URL/pets"
header = "Authorization: Bearer $KEY"
header = "Content-Type: application/json"
header = "Idempotency-Key: example-$number"
data = "${animal//\"/\\\"}"
output = "/dev/null"
dump-header = "-"
silent
show-error
fail
next
EOF
  done <pets.ndjson | sed '$d'
}

status=0
answers=$(requests | curl --fail-early --config -) || status=$?
accepted=$(grep -c '^HTTP/[0-9.]* 201' <<<"$answers" || true)
before=$(grep -ci '^Idempotent-Replayed: true' <<<"$answers" || true)
echo "added $((accepted - before)) animals; $before were there before"
[ "$status" = 0 ] || echo "failed: $(sed -n "$((accepted + 1))p" pets.ndjson)" >&2
exit "$status"
