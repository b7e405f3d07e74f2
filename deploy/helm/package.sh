#!/usr/bin/env bash
# Packages the chart with the image of a version as its default: package.sh VERSION FOLDER.
# The same content gives the same bytes: times are SOURCE_DATE_EPOCH, in place of those that
# helm writes.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
${HELM:-helm} package "$(dirname "$0")/toolstream" --app-version "$1" --destination "$work" >/dev/null
package=$(basename "$work"/*.tgz)
mkdir "$work/chart" && tar -xzf "$work/$package" -C "$work/chart"
mkdir -p "$2"
tar --sort=name --format=ustar --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
	-C "$work/chart" -c toolstream | gzip -9n >"$2/$package"
echo "$2/$package"
