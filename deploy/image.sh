#!/usr/bin/env bash
# Builds deploy/Dockerfile of bin/image for amd64 and arm64 without a daemon, into an OCI archive:
# image.sh VERSION FILE. The same content gives the same bytes: times are SOURCE_DATE_EPOCH.
set -euo pipefail

store=$(mktemp -d)
trap 'rm -rf "$store"' EXIT
stored() { buildah --root "$store/root" --runroot "$store/run" --storage-driver vfs "$@"; }

stored build --quiet --isolation chroot --timestamp "$SOURCE_DATE_EPOCH" --identity-label=false --platform linux/amd64,linux/arm64 \
	--build-arg "VERSION=$1" --build-arg "REVISION=$(git rev-parse HEAD)" \
	--manifest toolstream --file deploy/Dockerfile bin/image
stored manifest push --quiet --all toolstream "oci:$store/image:$1"
mkdir -p "$(dirname "$2")"
tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
	-C "$store/image" -cf "$2" oci-layout index.json blobs
