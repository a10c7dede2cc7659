# Doxygen reads the headers through this: the comments, which are plain C++, become its comments. Text is text: nothing in a comment is a
# command or a tag, and an indented block (an example, a table) keeps its lines.

function plain(text) {
  gsub(/[\\@]/, "\\\\&", text)
  gsub(/&/, "\\\\&", text)
  gsub(/[<>#%"]/, "\\\\&", text)
  gsub(/::/, "\\::", text)
  return text
}

function leave_block() {
  if (inside) print "@endverbatim"
  inside = 0
}

function leave() {
  leave_block()
  if (commenting) print "*/"
  commenting = 0
}

/^ *\/\/( |$)/ {
  match($0, /^ */)
  text = substr($0, RLENGTH + 3)
  gsub(/\*\//, "* /", text)
  # The first comment of a file, above its guard, is the file's.
  if (!commenting) print (begun || code) ? "/**" : "/** @file"
  commenting = begun = 1
  if (text ~ /^   +[^ ]/) {
    if (!inside) print "@verbatim"
    inside = 1
    print text
  } else {
    leave_block()
    print plain(text)
  }
  next
}

# A comment behind a member or an enumerator belongs to what stands before it.
/[;,{] +\/\/ / && !/"/ {
  leave()
  code = 1
  match($0, /\/\/ /)
  print substr($0, 1, RSTART - 1) "/**<" plain(substr($0, RSTART + 2)) " */"
  next
}

{
  leave()
  if ($0 !~ /^ *$/) code = 1
  print
}

END { leave() }
