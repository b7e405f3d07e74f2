#!/usr/bin/env bash
# The second step of action.yml: imports tools into a server, which is one of its own where none
# is named, and asks it questions.
set -euo pipefail

paths=()
while IFS= read -r path; do
	[ -z "$path" ] || paths+=("$path")
done <<<"$INPUT_PATHS"
mins=()
[ -z "$INPUT_MIN_RECALL" ] || mins+=(--min "recall@5=$INPUT_MIN_RECALL")
[ -z "$INPUT_MIN_NDCG" ] || mins+=(--min "ndcg@5=$INPUT_MIN_NDCG")
[ -z "$INPUT_MIN_MRR" ] || mins+=(--min "mrr=$INPUT_MIN_MRR")
fail() { echo "::error::$1" && exit 1; }
[ ${#paths[@]} -gt 0 ] || [ -n "$INPUT_SERVER" ] || fail "neither paths nor a server: there are no tools"
[ ${#mins[@]} -eq 0 ] || [ -n "$INPUT_QUESTIONS" ] || fail "min-recall, min-ndcg and min-mrr are of questions, and there is no file of them"
[[ $INPUT_SYNC =~ ^(true|false)$ ]] || fail "sync is true or false, not \"$INPUT_SYNC\""

export TOOLSTREAM_SERVER=$INPUT_SERVER
if [ -z "$INPUT_SERVER" ]; then
	unset TOOLSTREAM_TOKEN # it is for another server
	work=$(mktemp -d "${RUNNER_TEMP:-/tmp}/toolstream.XXXXXX")
	toolstream up --data "$work/data" --listen 127.0.0.1:0 --log-format json >"$work/log" 2>&1 &
	server=$!
	trap 'kill "$server" 2>/dev/null && wait "$server" || true; rm -rf "$work"' EXIT
	until TOOLSTREAM_SERVER=$(sed -n 's/.*"msg":"toolstream listens","url":"\([^"]*\)".*/\1/p' "$work/log") && [ -n "$TOOLSTREAM_SERVER" ]; do
		kill -0 "$server" 2>/dev/null || { cat "$work/log" && fail "the server did not start"; }
		sleep 0.1
	done
fi

if [ ${#paths[@]} -gt 0 ]; then
	import=(--wait --no-progress)
	[ -z "$INPUT_PROVIDER" ] || import+=(--provider "$INPUT_PROVIDER")
	[ "$INPUT_SYNC" = false ] || import+=(--sync)
	toolstream import "${import[@]}" -- "${paths[@]}" || fail "not all tools were imported"
fi

if [ -n "$INPUT_QUESTIONS" ]; then
	[ -f "$INPUT_QUESTIONS" ] || fail "there is no file $INPUT_QUESTIONS"
	good=true
	result=$(toolstream eval "$INPUT_QUESTIONS" --no-progress ${mins[@]+"${mins[@]}"} 2>&1) || good=false
	echo "$result"
	[ -z "${GITHUB_STEP_SUMMARY:-}" ] || printf '```\n%s\n```\n' "$result" >>"$GITHUB_STEP_SUMMARY"
	$good || fail "${result##*$'\n'}"
fi
