# No link of a document and no citation of the specification leads nowhere.

# The anchors of a document's headings.
anchors() {
    sed -n 's/^#\{1,6\} //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

# Complains unless the file of a link, and the heading that it names, exist.
check_link() {
    local from=$1 file=${2%%#*} anchor=
    [[ $2 != *#* ]] || anchor=${2#*#}
    if [[ ! -e $file ]]; then
        echo "$from: no file $file"
    elif [[ -n $anchor && $file == *.md ]] && ! anchors "$file" | grep -qxF -e "$anchor"; then
        echo "$from: no heading #$anchor in $file"
    fi
}

# The links of all documents: each to a file beside them, or to a heading.
check_documents() {
    local document link
    for document in *.md spec/*.md tests/golden/*/*.md; do
        [[ -f $document ]] || continue
        while read -r link; do
            case $link in
                http://* | https://* | mailto:*) ;;
                '#'*) check_link "$document" "$document$link" ;;
                *) check_link "$document" "$(dirname "$document")/$link" ;;
            esac
        done < <(grep -oE '\]\([^) ]+\)' "$document" | sed 's/^](//; s/)$//')
    done
}

# What the sources cite of the specification.
check_citations() {
    local file citation
    while IFS=: read -r file citation; do
        check_link "$file" "$citation"
    done < <(grep -roE 'spec/[a-z0-9_-]+\.md(#[a-z0-9_-]+)?' --include='*.rs' --exclude-dir=target \
        core std-adapter mpi-adapter fuzz tests | sort -u)
}

complaints=$(check_documents; check_citations)
[[ -z $complaints ]] || fail "$complaints"
