#!/usr/bin/env bash
# What libdrydock_verbs.so shows to the programs that load it.
set -u

readonly LIBRARY="$1" EXPORTS="$2"
failures=0

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# "ibv_reg_mr@IBVERBS_1.1" of each function that the library shows, by name.
exported() {
  nm -D --defined-only --with-symbol-versions "$LIBRARY" |
    awk '$2 != "A" && $2 ~ /^[A-Zui]$/ { sub("@@", "@", $3); print $3 }' | LC_ALL=C sort
}

# The same, as the version script lists them.
listed() {
  sed -e 's|/\*.*\*/||' -e '/\/\*/,/\*\//d' "$EXPORTS" | tr ';{}' '\n' | awk '
    { gsub(/^[ \t]+|[ \t]+$/, "") }
    /^(IBVERBS|EFA)_[0-9.]+$/ { version = $0 }
    { sub(/^global:[ \t]*/, "") }
    /^(ibv|efadv)_[a-z0-9_]+$/ { print $0 "@" version }' | LC_ALL=C sort
}

all=$(exported)
wanted=$(listed)

[ "$(wc -l <<<"$wanted")" -gt 60 ] || fail "the version script was not understood: $wanted"
if [ "$all" != "$wanted" ]; then
  fail "the library does not show what exports.map lists"
  diff <(echo "$wanted") <(echo "$all")
fi

# Nothing of C++: no mangled name, no unique object.
if grep -qE '^_Z' <<<"$all"; then fail "C++ leaks out: $(grep -E '^_Z' <<<"$all" | head -3)"; fi

# Every function is there under one version only.
twice=$(cut -d@ -f1 <<<"$all" | uniq -d)
[ -z "$twice" ] || fail "shown under several versions: $twice"

# What the machine's own libraries take from libibverbs and libefa.
checked=0
for name in libfabric.so.1 librdmacm.so.1; do
  file=$(PATH="$PATH:/sbin:/usr/sbin" ldconfig -p | awk -v name="$name" '$1 == name { print $NF; exit }')
  if [ -z "$file" ]; then
    echo "$name is not on this machine"
    continue
  fi
  taken=$(nm -D --undefined-only --with-symbol-versions "$file" | awk '{ print $NF }' |
    grep -E '@(IBVERBS|EFA)_' | sed 's/@@/@/')
  for symbol in $taken; do
    checked=$((checked + 1))
    grep -qxF "$symbol" <<<"$all" || fail "$name takes $symbol, which is not there"
  done
done
echo "$(wc -l <<<"$all") functions shown; the machine's libraries take $checked"

# The name by which it is asked for, and nothing that it needs is missing.
readelf -d "$LIBRARY" | grep -q 'SONAME.*\[libdrydock_verbs.so\]' || fail "the library has another name"
if ldd "$LIBRARY" | grep 'not found'; then fail "the library needs what is not there"; fi
LD_BIND_NOW=1 LD_PRELOAD="$PWD/$LIBRARY" /bin/true || fail "the library cannot be loaded"

[ "$failures" -eq 0 ]
