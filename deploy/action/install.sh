#!/usr/bin/env bash
# The first step of action.yml: puts a released program, whose checksum is right, or one that is
# there already, on the PATH of the steps that follow.
set -euo pipefail

releases=${TOOLSTREAM_RELEASES:-https://github.com/toolstream/toolstream/releases}
to=$(mktemp -d "${RUNNER_TEMP:-/tmp}/toolstream.XXXXXX")

if [ -n "$INPUT_BINARY" ]; then
	install -m 0755 "$INPUT_BINARY" "$to/toolstream"
	echo "$to" >>"$GITHUB_PATH"
	exit
fi

version=$INPUT_VERSION
if [ -z "$version" ] && [[ $ACTION_REF =~ ^v[0-9]+\.[0-9]+\.[0-9]+ ]]; then
	version=$ACTION_REF
elif [ -z "$version" ]; then # the page of the latest release redirects to that of its tag
	page=$(curl -fsSL --retry 3 -o "$to/page" -w '%{url_effective}' "$releases/latest")
	version=${page##*/}
fi
case ${RUNNER_OS:-$(uname -s)} in
Linux) system=linux form=tar.gz ;;
macOS | Darwin) system=darwin form=tar.gz ;;
Windows) system=windows form=zip ;;
*) echo "::error::there is no release for ${RUNNER_OS:-this system}" && exit 1 ;;
esac
case ${RUNNER_ARCH:-$(uname -m)} in
X64 | x86_64) arch=amd64 ;;
ARM64 | aarch64 | arm64) arch=arm64 ;;
*) echo "::error::there is no release for ${RUNNER_ARCH:-this processor}" && exit 1 ;;
esac

file=toolstream_${version#v}_${system}_${arch}.$form
cd "$to"
for name in checksums.txt "$file"; do
	curl -fsSL --retry 3 -o "$name" "$releases/download/$version/$name" ||
		{ echo "::error::$name of release $version cannot be fetched" && exit 1; }
done
sum=$(command -v sha256sum || echo "shasum -a 256")
if ! awk -v file="$file" '$2 == file' checksums.txt | $sum -c - >/dev/null 2>&1; then
	echo "::error::the checksum of $file is not that of its release: it was not installed"
	exit 1
fi
if [ $form = zip ]; then unzip -q "$file"; else tar -xzf "$file"; fi
echo "$to" >>"$GITHUB_PATH"
./toolstream version
