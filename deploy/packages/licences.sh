#!/usr/bin/env bash
# Writes licences.csv (module, version, licence) and THIRD_PARTY_LICENSES.txt (their texts) of
# what the programs are made of on any of the systems that are released, into a folder:
# licences.sh GO_LICENSES FOLDER. A licence that nobody has looked at is an error.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
list=$work/list
printf '{{range .}}{{.Name}}\t{{.Version}}\t{{.LicenseName}}\t{{.LicensePath}}\n{{end}}' >"$work/template"
for system in linux darwin windows; do
	# It warns of assembly, and of addresses of licences that it does not find: neither counts here.
	GOOS=$system CGO_ENABLED=0 "$1" report ./cmd/toolstream ./cmd/toolstream-lab --ignore github.com/toolstream/toolstream \
		--template "$work/template" --logtostderr=false --stderrthreshold=ERROR --log_dir "$work"
done >"$list"
printf 'std\t%s\tBSD-3-Clause\t%s\n' "$(go env GOVERSION)" "$(go env GOROOT)/LICENSE" >>"$list"
LC_ALL=C sort -u -o "$list" "$list"

mkdir -p "$2"
cut -f 1-3 "$list" | tr '\t' ',' >"$2/licences.csv"
if grep -vE ',(Apache-2\.0|BSD-2-Clause|BSD-3-Clause|ISC|MIT|MPL-2\.0)$' "$2/licences.csv" >&2; then
	echo "licences.sh: may these be distributed? Then add their licences to those known here." >&2
	exit 1
fi
while IFS=$'\t' read -r name version licence path; do
	printf '\n%s\n%s %s: %s\n\n' "$(printf '=%.0s' {1..80})" "$name" "$version" "$licence"
	for text in "$path" "$(dirname "$path")"/NOTICE*; do
		[ ! -f "$text" ] || cat "$text"
	done
done <"$list" >"$2/THIRD_PARTY_LICENSES.txt"
