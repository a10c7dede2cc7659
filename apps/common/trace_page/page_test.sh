#!/usr/bin/env bash
# The page that draws a trace, in headless Chromium: it opens from disk, 100,000 events in less than three seconds, says
# nothing on the console, asks the network for nothing, shows a picture, and does what a person asks of it.
#
# Passes without having looked where there is no Chromium, and says so; NEED_CHROMIUM=1 makes that a failure.
set -u
cd apps/common/trace_page || exit 2

readonly EVENTS=100000
readonly WORK=${TEST_TMPDIR:?run by Bazel}
readonly PICTURES=${TEST_UNDECLARED_OUTPUTS_DIR:-$WORK}
failures=0

expect() {  # WHAT COMMAND...: the command must succeed
  local what=$1
  shift
  if "$@"; then echo "ok: $what"; return; fi
  echo "FAILED: $what"
  failures=$((failures + 1))
}

find_chromium() {
  local name
  for name in chromium chromium-browser google-chrome; do
    if command -v "$name"; then return; fi
  done
  return 1
}

# Opens a page, prints its document when it is done, and leaves in $WORK/console what the page said there. No host has an
# address: what a page asked of the network fails, and fails with a line on the console.
browse() {  # FLAG... URL
  HOME=$WORK timeout 60 "$CHROMIUM" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars \
    --no-first-run --disable-background-networking --disable-component-update --disable-extensions \
    --host-resolver-rules="MAP * ~NOTFOUND" --user-data-dir="$WORK/profile" --window-size=1600,1000 \
    --enable-logging=stderr "$@" 2>"$WORK/said"
  grep CONSOLE "$WORK/said" >"$WORK/console"
}

console_is_silent() {
  [ ! -s "$WORK/console" ] && return
  cat "$WORK/console"
  return 1
}

number() {  # NAME: of a data attribute of the document
  sed -nE "s/.*<html[^>]* data-$1=\"([0-9]+)\".*/\1/p" "$WORK/document" | head -n 1
}

what_is_computed() {
  browse --dump-dom "file://$PWD/tests.html" >"$WORK/document"
  grep -oE '(FAILED: [^<]*|[0-9]+ passed, [0-9]+ failed)<' "$WORK/document"
  expect "the page's own tests pass" grep -qE '>[0-9]{2,} passed, 0 failed<' "$WORK/document"
  expect "silently" console_is_silent
}

large_trace() {
  testing/synthetic_trace $EVENTS | ./trace_html >"$WORK/large.html"
  browse --dump-dom "file://$WORK/large.html" >"$WORK/document"
  expect "all events are read" test "$(number events)" = $EVENTS
  expect "and drawn: $(number drawn) ms after the page was asked for" test -n "$(number drawn)"
  expect "nothing else is loaded" test "$(number resources)" = 0
  expect "silently" console_is_silent
}

pictures() {
  ./trace_html <example.json >"$WORK/example.html"
  picture timeline "file://$WORK/example.html#theme=light&event=45"
  picture sequence "file://$WORK/example.html#theme=dark&view=sequence"
  picture large "file://$WORK/large.html#theme=dark"
  {
    echo '<!doctype html><body>'
    for name in timeline sequence large; do
      printf '<img alt="%s" src="data:image/png;base64,%s">\n' $name "$(base64 -w0 "$PICTURES/$name.png")"
    done
    echo '<script>'; cat colours.js; echo '</script>'
  } >"$WORK/colours.html"
  browse --virtual-time-budget=2000 --dump-dom "file://$WORK/colours.html" >"$WORK/document"
  for name in timeline sequence large; do expect "the picture of the $name shows something" shows_something $name; done
}

picture() {  # NAME URL
  browse --virtual-time-budget=3000 --screenshot="$PICTURES/$1.png" "$2"
  expect "the picture $1 is taken silently" console_is_silent
}

shows_something() {  # NAME
  local size colours percent
  read -r size colours percent < <(sed -nE "s/.*>$1: ([0-9x]+) ([0-9]+) colours ([0-9]+) percent<.*/\1 \2 \3/p" "$WORK/document")
  echo "$1: ${size:-no picture}, ${colours:-0} colours, the most frequent on ${percent:-100} % of it"
  [ "${size:-}" = 1600x1000 ] && [ "$colours" -gt 100 ] && [ "$percent" -lt 96 ]
}

hostile_trace() {
  cat >"$WORK/hostile.json" <<'END'
{"otherData":{"program":"</script><script>document.title='broken in'</script>","backend":"<img src=x onerror=alert(1)>"},
 "traceEvents":[
{"name":"process_name","ph":"M","pid":1,"args":{"name":"<b>node</b><!--"}},
{"name":"</SCRIPT ><img src=http://127.0.0.1:9/x onerror=alert(2)>","cat":"fault","ph":"X","ts":1,"dur":1,"pid":1,"tid":1,
 "args":{"<i>":"</script>","op":"<svg onload=alert(3)>"}},
{"name":{"toString":1},"cat":"place","ph":"X","ts":2,"dur":1e300,"pid":2,"tid":{"toString":1},
 "args":{"op":{"toString":1},"region":{"toString":1},"offset":1e308,"bytes":1e308,"kind":{"valueOf":1}}}]}
END
  ./trace_html <"$WORK/hostile.json" >"$WORK/hostile.html"
  local view
  for view in timeline sequence; do
    browse --virtual-time-budget=2000 --dump-dom "file://$WORK/hostile.html#view=$view&event=1&search=a" >"$WORK/document"
    expect "a hostile $view is drawn" test "$(number events)" = 2
    expect "silently" console_is_silent
  done
  browse --virtual-time-budget=2000 --dump-dom "file://$WORK/hostile.html#event=0" >"$WORK/document"
  expect "its text stays text" grep -q '<title>&lt;/script&gt;&lt;script&gt;document' "$WORK/document"
  expect "no element comes of it" not grep -qE '<(img|svg|b)[ >]' "$WORK/document"
  expect "nothing is loaded" test "$(number resources)" = 0
  expect "silently" console_is_silent
}

no_trace() {
  echo '{"traceEvents":' | ./trace_html >"$WORK/broken.html"
  browse --dump-dom "file://$WORK/broken.html" >"$WORK/document"
  expect "what is no trace is said to be none" grep -q '<h1 id="title">The trace is not JSON' "$WORK/document"
  expect "silently" console_is_silent
}

a_person_uses_it() {
  # A browser without a screen may draw no frame for long: whoever waits for one is called at once.
  local at_once='<script>window.requestAnimationFrame = (draw) => setTimeout(draw, 1);</script>'
  { sed "s|^<title>|$at_once&|" "$WORK/example.html"; echo '<script>'; cat drive.js; echo '</script>'; } >"$WORK/drive.html"
  browse --virtual-time-budget=60000 --dump-dom "file://$WORK/drive.html" >"$WORK/document"
  grep -oE '<title>[^<]*' "$WORK/document"
  expect "it does what it is asked" grep -qE '<title>[0-9]{2,} passed, 0 failed<' "$WORK/document"
  expect "silently" console_is_silent
}

not() { ! "$@"; }

if ! CHROMIUM=$(find_chromium); then
  echo "SKIPPED: no Chromium is installed here; ./bazelw --install chromium gets one"
  [ "${NEED_CHROMIUM:-}" != 1 ]
  exit
fi
for part in what_is_computed large_trace pictures hostile_trace no_trace a_person_uses_it; do
  echo "[ RUN ] $part"
  $part
done
echo "$failures failures"
[ $failures = 0 ]
