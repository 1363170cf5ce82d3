#!/usr/bin/env bash
# Tells whether a request that was written down is genuine, for finding out why a receiver refuses it. Needs bash and openssl.
#
#   WEBHOOK_SECRET='…' ./verify.sh "$HEADER" < body
#
# HEADER is the value of X-Platform-Signature, and `body` the raw body, byte for byte. Exits with 0 where the secret signed it,
# and with 1 where not. Not for a machine that others use: they see the arguments of openssl, and the secret is one.
set -euo pipefail
export LC_ALL=C

refuse() {
  echo "not genuine: $1" >&2
  exit 1
}
hmac() { openssl dgst -sha256 -hmac "$1" -r | cut -d ' ' -f 1; }

# With an empty secret anybody could sign.
if [[ -z ${WEBHOOK_SECRET-} ]]; then
  echo 'WEBHOOK_SECRET is not set.' >&2
  exit 2
fi
[[ -n ${1-} ]] || refuse 'there is no header'

timestamp=''
digests=()
IFS=, read -r -a pairs <<<"$1"
for pair in "${pairs[@]}"; do
  value=${pair#*=}
  case $pair in
    t=*)
      [[ -z $timestamp && $value =~ ^[0-9]{1,16}$ ]] || refuse 't is no time, or is there twice'
      timestamp=$value
      ;;
    v1=*)
      [[ $value =~ ^[0-9a-f]{64}$ ]] || refuse 'v1 is not 64 lower-case hex digits'
      digests+=("$value")
      ;;
  esac
done
[[ -n $timestamp ]] || refuse 'there is no t'
((${#digests[@]} > 0)) || refuse 'there is no v1'

expected=$({ printf '%s.' "$timestamp" && cat; } | hmac "$WEBHOOK_SECRET")
# A shell compares up to the first difference. What it compares here are hashes that nobody can predict, so its time tells nothing.
blind=$(openssl rand -hex 32)
hidden=$(printf %s "$expected" | hmac "$blind")
genuine=no
for digest in "${digests[@]}"; do
  if [[ $(printf %s "$digest" | hmac "$blind") == "$hidden" ]]; then genuine=yes; fi
done
[[ $genuine == yes ]] || refuse 'another secret, or another body'
echo "genuine, signed $(($(date +%s) - 10#$timestamp)) seconds ago"
