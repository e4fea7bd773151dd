#!/bin/sh
# Denies revoked tokens at a stock kube-apiserver: fetches the issuer's list and writes it into the
# server's authentication file, which the server then reloads. See docs/direct-api-server.md.
#
# - Needs a POSIX shell with its usual tools, awk, curl and mktemp. A timer runs it, one run at a time.
# - It writes only between the lines `# BEGIN revoked tokens` and `# END revoked tokens`, and only if the
#   list has a token that the file lacks, because each write makes the server fetch the signing keys.
#   With --reload that fetch is wanted, and the script always writes. A token in the file stays there until
#   it has expired, so a list that lost it, such as one from a backup, does not make it valid again.
# - If the list is incomplete or malformed, the script leaves the file unchanged.
# - If the list has more tokens than the server can deny, the script takes those that expire last and exits
#   with 1 and the number of the others. So a flood of revocations does not stop the denial of all.
# - 50 tokens a rule: the server refuses expressions above 100,000 characters, and it logs the whole
#   expression whenever one refuses a token.
set -eu
LC_ALL=C
export LC_ALL
umask 077

usage() {
  cat <<'END'
usage: deny-revoked.sh --issuer <url> --file <file> [--ca-file <file>] [--max-tokens <number>]
                       [--max-list-bytes <number>] [--reload]

  --issuer          the issuer, as in the authentication file; the list is at <issuer>/revoked
  --file            the authentication file, what --authentication-config of the server names
  --ca-file         who signed the issuer's certificate (PEM), where this machine does not trust them anyway
  --max-tokens      how many tokens the file denies at most; 20000 unless it is set. Of more, those that end
                    last: see docs/direct-api-server.md for what the server bears
  --max-list-bytes  how much of a longer list is read; 67108864, a million tokens, unless it is set. What
                    ends last comes first on it
  --reload          change the file in any case: the server then fetches the signing keys. After a key was
                    withdrawn

Exit code 0: every token on the list is denied by the file, and with --reload the file has changed. 1: no
sound list, or the file could not be written, and it is as it was; or there are more tokens than the file
may deny, and it denies those that end last. 2: wrong arguments, or a file that can't be
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

# Prints the beginning of what is there, as much of it as is read; curl's exit code goes into another file.
# -q is first: a curlrc must not switch off what is checked here. Redirects are not followed.
fetch() {
  {
    curl -q --silent --show-error --fail --proto '=https' --max-time 60 \
      ${ca_file:+--cacert "$ca_file"} -- "$1" && echo 0 >"$2" || echo $? >"$2"
  } | head -c "$max_list_bytes"
}

# Prints a line for each token of a list: <uid> <end>; when it was made goes into another file. Fails
# for all but {"asOf": <time>, "tokens": {<name>: <time>, ...}}, of which the end may be cut off where that
# is said. A name that is no uid is left out: the authentication file accepts no token with such a jti.
tokens_of() {
  awk -v RS=, -v as_of="$2" -v may_be_cut="$3" '
    BEGIN {
      d = "[0-9]"; x = "[0-9a-f]"; x4 = x x x x
      time = "\"" d d d d "-" d d "-" d d "T" d d ":" d d ":" d d "(\\.[0-9]+)?Z\""
      uid = "\"" x4 x4 "-" x4 "-" x4 "-" x4 "-" x4 x4 x4 "\""
    }
    # One that is no entry may be the last of a list that was cut off, and nothing else.
    odd || ended { failed = 1; exit }
    { gsub(/[ \t\r\n]/, "") }
    NR == 1 {
      if ($0 !~ "^[{]\"asOf\":" time "$") { failed = 1; exit }
      split($0, parts, "\"")
      print parts[4] >as_of
      next
    }
    NR == 2 {
      if (!sub(/^"tokens":[{]/, "")) { failed = 1; exit }
      if ($0 == "}}") { ended = 1; next }
    }
    {
      ended = sub(/[}][}]$/, "")
      odd = $0 !~ "^\"[-._a-zA-Z0-9]+\":" time "$"
      if (odd || $0 !~ "^" uid) next
      split($0, parts, "\"")
      print parts[2], parts[4]
    }
    END { exit failed || NR < 2 || (!may_be_cut && (odd || !ended)) || (odd && ended) }
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

issuer='' file='' ca_file='' max_tokens=20000 max_list_bytes=67108864 comment=''
while [ $# -gt 0 ]; do
  case $1 in
    --help) usage && exit 0 ;;
    --reload)
      # The process id, as two runs in one second must differ.
      comment="reloaded at $(date -u +%Y-%m-%dT%H:%M:%SZ) by $$"
      shift
      continue
      ;;
    --issuer | --file | --ca-file | --max-tokens | --max-list-bytes) [ $# -gt 1 ] || fail 2 "$1 needs a value" ;;
    *) fail 2 "unknown argument $1: --help names those there are" ;;
  esac
  case $1 in
    --issuer) issuer=$2 ;;
    --file) file=$2 ;;
    --ca-file) ca_file=$2 ;;
    --max-tokens) max_tokens=$2 ;;
    --max-list-bytes) max_list_bytes=$2 ;;
  esac
  shift 2
done
case $issuer in
  https://?*[!/]) ;;
  *) fail 2 '--issuer must be an https URL without a slash at its end' ;;
esac
must_be_number() {
  case $2 in
    '' | 0* | *[!0-9]*) fail 2 "$1 must be a number above 0, not '$2'" ;;
  esac
}
must_be_number --max-tokens "$max_tokens"
must_be_number --max-list-bytes "$max_list_bytes"
# A rename would put a file in the place of the link, and the server might go on reading what it led to.
[ ! -h "$file" ] || fail 2 "$file is a symbolic link: name the file that it leads to"
[ -f "$file" ] || fail 2 "--file must be the authentication file: $file is none"

work=$(mktemp -d) || fail 1 'there is no room for temporary files'
next=''
trap 'rm -rf "$work" ${next:+"$next"}' EXIT
trap 'exit 1' HUP INT TERM

denied_in "$file" >"$work/denied" ||
  fail 2 "$file needs one line '# BEGIN revoked tokens' and after it one '# END revoked tokens'"
fetch "$issuer/revoked" "$work/code" >"$work/body" 2>"$work/error"
may_be_cut=$(($(wc -c <"$work/body") >= max_list_bytes))
# What reads no further ends curl: it says so by 23, or the shell by 141.
case $may_be_cut:$(cat "$work/code") in
  ?:0 | 1:23 | 1:141) ;;
  *) fail 1 "no list from $issuer/revoked: $(sed -n 1p "$work/error")" ;;
esac
tokens_of "$work/body" "$work/as_of" "$may_be_cut" >"$work/list" ||
  fail 1 "$issuer/revoked answers something else than a list of revoked tokens"
# A list that is as long as may be read is whole where it ends as one does.
is_cut=0
[ "$may_be_cut" -eq 0 ] || tokens_of "$work/body" "$work/as_of" 0 >/dev/null || is_cut=1
sort -u -k 1,1 "$work/list" >"$work/listed"

# Both together, those that end last first: what is on the list, and what was denied and has not ended.
now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
awk -v now="$now" -v denied="$work/denied" '
  BEGIN { while ((getline line <denied) > 0) { split(line, part, " "); end[part[1]] = part[2] } }
  { print; delete end[$1] }
  END { for (uid in end) if (end[uid] > now) print uid, end[uid] }
' "$work/listed" | sort -k 2,2r -k 1,1 >"$work/both"
head -n "$max_tokens" "$work/both" | sort >"$work/tokens"
left=$(awk -v most="$max_tokens" -v now="$now" 'NR > most && $2 > now { n++ } END { print n + 0 }' "$work/both")
added=$(awk -v denied="$work/denied" '
  BEGIN { while ((getline line <denied) > 0) { split(line, part, " "); is[part[1]] = 1 } }
  !($1 in is) { n++ }
  END { print n + 0 }
' "$work/tokens")
as_of=$(cat "$work/as_of")
total=$(($(wc -l <"$work/tokens")))

if [ "$added" -eq 0 ] && [ -z "$comment" ]; then
  result="nothing new on the list of $as_of"
else
  with_tokens "$file" "$work/tokens" "$comment" >"$work/file" || fail 1 "$file could not be read"
  replace "$file" "$work/file" || fail 1 "$file could not be written"
  result="$total tokens denied, $added of them new on the list of $as_of${comment:+; $comment}"
fi
if [ "$is_cut" -eq 1 ]; then
  fail 1 "$result; $((left + 1)) or more that end sooner are not: the list is longer than $max_list_bytes bytes"
fi
[ "$left" -eq 0 ] || fail 1 "$result; $left that end sooner are not: $max_tokens tokens are all that it may deny"
echo "deny-revoked: $result"
