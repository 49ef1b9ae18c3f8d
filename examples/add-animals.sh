#!/usr/bin/env bash
# Adds the 300 animals of pets.ndjson through the API, while the service runs:
#   URL=http://127.0.0.1:3000/v1 KEY=the-key bash examples/add-animals.sh
# The service assigns their ids. Running it again adds nothing, because each animal has its own Idempotency-Key.
set -euo pipefail
cd "$(dirname "$0")"

# A curl configuration with a request for each line: `\` and `"` are escaped in it.
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
silent
show-error
fail
next
EOF
done <pets.ndjson | sed '$d' | curl --fail-early --config -
