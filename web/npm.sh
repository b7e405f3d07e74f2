#!/usr/bin/env bash
# Runs npm in this folder with the packages of package-lock.json. They lie outside of the
# checkout, where they are installed once.
set -euo pipefail
cd "$(dirname "$0")"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/toolstream
packages=$cache/web-$(cat package.json package-lock.json | sha256sum | cut -c1-8)
if [ ! -d "$packages" ]; then
  mkdir -p "$cache"
  part=$(mktemp -d "$packages.XXXXXX")
  trap 'rm -rf "$part"' EXIT
  cp package.json package-lock.json .npmrc "$part"
  npm ci --prefix "$part" --no-audit --no-fund --loglevel=error
  mv -T "$part" "$packages" 2>/dev/null || [ -d "$packages" ] # another one was faster
fi
if [ "$(readlink node_modules)" != "$packages/node_modules" ]; then
  rm -rf node_modules
  ln -s "$packages/node_modules" node_modules
fi
npm "$@"
