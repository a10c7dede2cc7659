#!/usr/bin/env bash
# Makes a page for man(1) of a --help text: manual.sh PAGE DATE VERSION <TEXT. The words are those of --help; the first line becomes the
# page's NAME, `Flags:`, `Commands:` and `Examples:` its sections.
set -euo pipefail
page=$1 version=$3
TZ=UTC printf -v day '%(%Y-%m-%d)T' "$2"
awk -v page="$page" -v day="$day" -v version="$version" '
  function escaped(text) {
    gsub(/\\/, "\\e", text); gsub(/-/, "\\-", text)
    if (text ~ /^[.\x27]/) text = "\\&" text
    return text
  }
  function section(name) { if (open) print ".fi"; print ".SH " name; print ".nf"; open = 1 }
  NR == 1 {
    about = $0
    sub(/^[a-z_-]+: /, "", about); sub(/\.$/, "", about)
    printf ".TH %s 1 %s \"drydock %s\" \"Drydock\"\n", toupper(page), day, version
    print ".SH NAME"
    print page " \\- " escaped(about)
    section("SYNOPSIS")
    next
  }
  NR == 2 && /^$/ { next }
  /^(Flags|Commands|Examples):$/ { sub(/:/, ""); section(toupper($0)); next }
  { print escaped($0) }
  END { print ".fi" }
'
