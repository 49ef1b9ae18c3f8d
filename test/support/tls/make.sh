#!/bin/sh
# This script made the certificates of the tests. Run it with `sh test/support/tls/make.sh`. It needs OpenSSL 3.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

cat > "$work/config" <<END
[ca]
default_ca = tests
[tests]
database = $work/database
new_certs_dir = $work
rand_serial = yes
unique_subject = no
default_md = sha256
policy = policy
[policy]
commonName = supplied
END
touch "$work/database"

key() {
  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1"
}

# sign SUBJECT KEY EXTENSIONS END ISSUER... prints a certificate that is valid from 2020 to the year END.
sign() {
  openssl req -new -key "$2" -subj "/CN=$1" -out "$work/request.pem"
  echo "$3" > "$work/extensions"
  end=$4
  shift 4
  openssl ca -batch -notext -config "$work/config" -in "$work/request.pem" -extfile "$work/extensions" \
    -startdate 20200101000000Z -enddate "${end}0101000000Z" "$@" 2> "$work/log" || cat "$work/log" >&2
}

CA='basicConstraints=critical,CA:TRUE'
SERVER='subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1'

key "$work/root-key.pem"
sign 'petstore tests: root' "$work/root-key.pem" "$CA" 2120 -selfsign -keyfile "$work/root-key.pem" > root.pem
key "$work/middle-key.pem"
sign 'petstore tests: intermediate' "$work/middle-key.pem" "$CA" 2120 \
  -cert root.pem -keyfile "$work/root-key.pem" > "$work/middle.pem"

leaf() {
  sign "$1" "$2" "$SERVER" "$3" -cert "$work/middle.pem" -keyfile "$work/middle-key.pem"
}

key key.pem
key renewed-key.pem
openssl pkey -in key.pem -aes256 -passout pass:secret -out encrypted-key.pem
{ leaf 'petstore tests' key.pem 2120; cat "$work/middle.pem"; } > cert.pem
{ leaf 'petstore tests: renewed' renewed-key.pem 2120; cat "$work/middle.pem"; } > renewed-cert.pem
leaf 'petstore tests: expired' key.pem 2021 > expired-cert.pem

# A second authority, which signs only its own certificate. The file has its certificate, and then its key.
key "$work/other-key.pem"
{
  sign 'petstore tests: another authority' "$work/other-key.pem" "$SERVER" 2120 \
    -selfsign -keyfile "$work/other-key.pem"
  cat "$work/other-key.pem"
} > other-authority.pem
