#!/usr/bin/env bash
# Runs the five services of the distributed deployment, each in a process of its
# own, on the servers that TOOLSTREAM_SERVERS names, imports the sample registry
# and shows a search. It stops all of them when it is interrupted or one of them
# ends. `make up-distributed` starts it; its data is temporary.
set -euo pipefail
first=${TOOLSTREAM_TRIAL_PORT:-8665} # ingest listens there, the others behind it

for server in ${TOOLSTREAM_SERVERS//,/ }; do
  address=${server#*=}
  case $server in
    kafka=*) export TOOLSTREAM_KAFKA_BROKERS=$address ;;
    nats=*) export TOOLSTREAM_NATS_URL=nats://$address ;;
    weaviate=*) export TOOLSTREAM_WEAVIATE_URL=http://${address%/*} TOOLSTREAM_WEAVIATE_GRPC=${address#*/} TOOLSTREAM_QUERY_VECTORS=weaviate ;;
  esac
done
export TOOLSTREAM_LOG_LEVEL=${TOOLSTREAM_LOG_LEVEL:-warn} TOOLSTREAM_SERVER=http://127.0.0.1:$first
export TOOLSTREAM_PEERS_INGEST=$TOOLSTREAM_SERVER TOOLSTREAM_PEERS_QUERY=http://127.0.0.1:$((first + 1)) TOOLSTREAM_PEERS_TRAINER=http://127.0.0.1:$((first + 2))

dir=$(mktemp -d)
services=()
stop() {
  trap '' INT TERM
  kill "${services[@]}" 2>/dev/null || true
  wait "${services[@]}" 2>/dev/null || true
  rm -rf "$dir"
}
trap stop EXIT
trap 'exit 0' INT TERM

port=$first
for service in query trainer embedder standardizer ingest; do # consumers before producers
  [ "$service" = ingest ] && port=$first || port=$((port + 1))
  bin/toolstream serve "$service" --data "$dir/$service" --listen "127.0.0.1:$port" &
  services+=($!)
done
until bin/toolstream status >/dev/null 2>&1; do
  kill -0 "${services[@]}" # fails where a service has ended
  sleep 0.2
done
bin/toolstream import --wait examples/registry/tools
bin/toolstream search "will it rain in Lisbon tomorrow?" -k 3
printf '\nthe API of all services is at %s; ctrl-C stops them\n' "$TOOLSTREAM_SERVER"
wait -n
echo "a service ended by itself" >&2
exit 1
