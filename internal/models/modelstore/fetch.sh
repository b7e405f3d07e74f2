#!/usr/bin/env bash
# Fills the folder $1 with the ONNX Runtime and the models of the catalog, for
# development and tests. What is there already is not fetched again.
set -euo pipefail
cd "$(dirname "$0")/../../.."
store=$1
mkdir -p "$store"

tool=$(mktemp -d)
trap 'rm -rf "$tool"' EXIT
go build -o "$tool/toolstream" ./cmd/toolstream

missing=()
for name in onnxruntime minilm minilm-q bge-small bge-small-q; do
  "$tool/toolstream" models verify "$name" --dir "$store" >/dev/null 2>&1 || missing+=("$name")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "$store is complete"
  exit 0
fi

command -v unzip >/dev/null || { echo "unzip is not installed: it opens the packages" >&2; exit 1; }
command -v mvn >/dev/null || { echo "mvn is not installed (Debian: apt-get install maven): it fetches the packages" >&2; exit 1; }
mvn -B -q -f internal/models/modelstore/pom.xml dependency:copy-dependencies -DexcludeTransitive=true -DoutputDirectory="$tool/packages"
for package in "$tool"/packages/*.jar; do
  unzip -q -o "$package" -d "${package%.jar}"
done
for name in "${missing[@]}"; do
  "$tool/toolstream" models add "$name" --from "$tool/packages" --dir "$store"
done
