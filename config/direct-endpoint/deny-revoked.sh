#!/bin/sh
# Denies revoked tokens at a stock kube-apiserver: fetches the issuer's list and writes it into the
# server's authentication file, which the server then reads anew. See docs/direct-endpoint.md.
#
# - Needs a POSIX shell with its usual tools, awk, curl and mktemp. A timer runs it, one run at a time.
# - It writes only what stands between the lines `# BEGIN revoked tokens` and `# END revoked tokens`,
#   and only when the list has a token that is not there yet, as each write makes the server fetch the
#   signing keys; with --reload that is what is wanted, and it writes in any case. A token that is there
#   stays at least until it has ended: a list that lost it, such as one from a backup, makes it good for
#   nobody.
# - Without a list that is sound to the last byte the file stays as it is.
# - 50 tokens a rule: the server refuses expressions above 100,000 characters, and it logs the whole
#   expression whenever one refuses a token.
set -eu
LC_ALL=C
export LC_ALL
umask 077

usage() {
  cat <<'END'
usage: deny-revoked.sh --issuer <url> --file <file> [--ca-file <file>] [--max-list-bytes <number>] [--reload]

  --issuer          the issuer, as in the authentication file; the list is at <issuer>/revoked
  --file            the authentication file, what --authentication-config of the server names
  --ca-file         who signed the issuer's certificate (PEM), where this machine does not trust them anyway
  --max-list-bytes  longest list that is taken; 8388608, some 130,000 tokens, unless it is set
  --reload          change the file in any case: the server then fetches the signing keys. After a key was
                    withdrawn

Exit code 0: every token on the list is denied by the file, and with --reload the file has changed. 1: no
sound list, or the file could not be written; it is as it was. 2: wrong arguments, or a file that can't be
worked on.
END
}

fail() {
  printf 'deny-revoked: %s\n' "$2" >&2
  exit "$1"
}

# Both markers, once, in order. Prints what is denied so far, a line for each: <uid> <end>.
denied_in() {
  awk '
    /^ *# BEGIN revoked tokens/ { begins++; inside = 1; next }
    /^ *# END revoked tokens/ { ends++; if (!inside) astray = 1; inside = 0; next }
    inside && $1 ~ /^.JTI=/ { print substr($1, 6, length($1) - 7), $4 }
    END { exit begins != 1 || ends != 1 || astray }
  ' "$1"
}

# -q is first: a curlrc must not switch off what is checked here. Redirects are not followed.
fetch() {
  curl -q --silent --show-error --fail --proto '=https' --max-time 20 --max-filesize "$max_list_bytes" \
    ${ca_file:+--cacert "$ca_file"} --output "$2" -- "$1"
}

too_long() {
  fail 1 "the list at $issuer/revoked is longer than $max_list_bytes bytes: --max-list-bytes raises that"
}

# Prints a line for each token of a list: <uid> <end>; when it was made goes into another file. Fails
# for all but {"asOf": <time>, "tokens": {<name>: <time>, ...}}. A name that is no uid is left out: the
# authentication file accepts no token with such a jti.
tokens_of() {
  awk -v as_of="$2" '
    { text = text $0 }
    END {
      d = "[0-9]"; x = "[0-9a-f]"; x4 = x x x x
      time = "\"" d d d d "-" d d "-" d d "T" d d ":" d d ":" d d "(\\.[0-9]+)?Z\""
      uid = "\"" x4 x4 "-" x4 "-" x4 "-" x4 "-" x4 x4 x4 "\""
      gsub(/[ \t\r]/, "", text)
      if (text !~ "^[{]\"asOf\":" time ",\"tokens\":[{].*[}][}]$") exit 1
      start = index(text, ":{") + 2
      count = split(substr(text, start, length(text) - start - 1), entries, ",")
      split(text, parts, "\"")
      print parts[4] >as_of
      for (i = 1; i <= count; i++) {
        if (entries[i] !~ "^\"[-._a-zA-Z0-9]+\":" time "$") exit 1
        if (entries[i] !~ "^" uid) continue
        split(entries[i], parts, "\"")
        print parts[2], parts[4]
      }
    }
  ' "$1"
}

# Prints the file with these tokens, and no others, between its markers; before them a comment, if any.
with_tokens() {
  awk -v tokens="$2" -v comment="$3" -v per_rule=50 '
    function rules(indent,   n, part) {
      if (comment != "") print indent "# " comment
      while ((getline line <tokens) > 0) {
        if (n++ % per_rule == 0) {
          if (n > 1) print indent "    ])"
          print indent "- message: the token is revoked"
          print indent "  expression: |-"
          print indent "    !user.extra[" q id q "].exists(id, id in ["
        }
        split(line, part, " ")
        print indent "    " q "JTI=" part[1] q ", // until " part[2]
      }
      if (n > 0) print indent "    ])"
    }
    BEGIN { q = sprintf("%c", 39); id = "authentication.kubernetes.io/credential-id" }
    /^ *# END revoked tokens/ { inside = 0 }
    !inside { print }
    /^ *# BEGIN revoked tokens/ { inside = 1; rules(substr($0, 1, index($0, "#") - 1)) }
  ' "$1"
}

# A new file takes the name of the old one, with its owner and mode: the server never sees half a file.
replace() {
  next=$(mktemp "$(dirname "$1")/.deny-revoked.XXXXXX") &&
    cp -p "$1" "$next" && cat "$2" >"$next" && mv -f "$next" "$1"
}

issuer='' file='' ca_file='' max_list_bytes=8388608 comment=''
while [ $# -gt 0 ]; do
  case $1 in
    --help) usage && exit 0 ;;
    --reload)
      # The process id, as two runs in one second must differ.
      comment="read anew at $(date -u +%Y-%m-%dT%H:%M:%SZ) by $$"
      shift
      continue
      ;;
    --issuer | --file | --ca-file | --max-list-bytes) [ $# -gt 1 ] || fail 2 "$1 needs a value" ;;
    *) fail 2 "unknown argument $1: --help names those there are" ;;
  esac
  case $1 in
    --issuer) issuer=$2 ;;
    --file) file=$2 ;;
    --ca-file) ca_file=$2 ;;
    --max-list-bytes) max_list_bytes=$2 ;;
  esac
  shift 2
done
case $issuer in
  https://?*[!/]) ;;
  *) fail 2 '--issuer must be an https URL without a slash at its end' ;;
esac
case $max_list_bytes in
  '' | 0* | *[!0-9]*) fail 2 "--max-list-bytes must be a number above 0, not '$max_list_bytes'" ;;
esac
# A rename would put a file in the place of the link, and the server might go on reading what it led to.
[ ! -h "$file" ] || fail 2 "$file is a symbolic link: name the file that it leads to"
[ -f "$file" ] || fail 2 "--file must be the authentication file: $file is none"

work=$(mktemp -d) || fail 1 'there is no room for temporary files'
next=''
trap 'rm -rf "$work" ${next:+"$next"}' EXIT
trap 'exit 1' HUP INT TERM

denied_in "$file" >"$work/denied" ||
  fail 2 "$file needs one line '# BEGIN revoked tokens' and after it one '# END revoked tokens'"
fetch "$issuer/revoked" "$work/body" 2>"$work/error" || {
  [ $? -ne 63 ] || too_long
  fail 1 "no list from $issuer/revoked: $(sed -n 1p "$work/error")"
}
# An older curl knows only of a length that the answer begins with.
[ "$(wc -c <"$work/body")" -le "$max_list_bytes" ] || too_long
tokens_of "$work/body" "$work/as_of" >"$work/list" ||
  fail 1 "$issuer/revoked answers something else than a list of revoked tokens"
sort -u -k 1,1 "$work/list" >"$work/listed"

# Both together: what is on the list, and what was denied and has not ended.
now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
awk -v now="$now" -v denied="$work/denied" -v added="$work/added" '
  BEGIN { while ((getline line <denied) > 0) { split(line, part, " "); end[part[1]] = part[2] } }
  { print; if (!($1 in end)) new++; delete end[$1] }
  END {
    for (uid in end) if (end[uid] > now) print uid, end[uid]
    print new + 0 >added
  }
' "$work/listed" >"$work/both"
sort "$work/both" >"$work/tokens"
as_of=$(cat "$work/as_of")
added=$(cat "$work/added")
total=$(($(wc -l <"$work/tokens")))

if [ "$added" -eq 0 ] && [ -z "$comment" ]; then
  echo "deny-revoked: nothing new on the list of $as_of"
  exit 0
fi
with_tokens "$file" "$work/tokens" "$comment" >"$work/file" || fail 1 "$file could not be read"
replace "$file" "$work/file" || fail 1 "$file could not be written"
echo "deny-revoked: $total tokens denied, $added of them new on the list of $as_of${comment:+; $comment}"
