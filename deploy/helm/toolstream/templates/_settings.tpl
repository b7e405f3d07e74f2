{{/* Settings of toolstream by their names, without secrets: docs/configuration.md lists them. */}}
{{- define "toolstream.settings" -}}
{{- $v := .Values }}
data: /data
listen: 0.0.0.0:8665
log.format: json
embedder.model: {{ $v.embedding.model | quote }}
{{- with $v.embedding.url }}
embedder.url: {{ quote . }}
{{- end }}
{{- with $v.embedding.name }}
embedder.name: {{ quote . }}
{{- end }}
{{- with $v.llm.baseUrl }}
llm.base_url: {{ quote . }}
llm.model: {{ $v.llm.model | quote }}
{{- end }}
{{- if and $v.llm.baseUrl $v.llm.existingSecret }}
llm.api_key_file: /run/toolstream/llm/api-key
{{- end }}
{{- with $v.rerank }}
rerank.model: {{ .model | quote }}
{{- if .url }}
rerank.url: {{ .url | quote }}
rerank.form: {{ .form }}
rerank.name: {{ .name | quote }}
{{- end }}
{{- end }}
{{- with $v.sources.kubernetes }}
{{- if .enabled }}
crawl.kubernetes.kinds: {{ join "," .kinds | quote }}
crawl.kubernetes.namespaces: {{ toJson .namespaces | quote }}
{{- end }}
{{- end }}
auth.mode: {{ $v.auth.mode }}
{{- if include "toolstream.tokensSecret" . }}
auth.tokens_file: /run/toolstream/auth/tokens
{{- end }}
{{- if $v.auth.certificates.existingSecret }}
auth.certificates.ca_file: /run/toolstream/clients/ca.crt
{{- end }}
{{- if $v.tls.existingSecret }}
tls.cert_file: /run/toolstream/tls/tls.crt
tls.key_file: /run/toolstream/tls/tls.key
{{- end }}
{{- if ne $v.mode "embedded" }}
kafka.brokers: {{ include "toolstream.brokers" . | quote }}
kafka.prefix: {{ $v.kafka.prefix | quote }}
{{- with $v.kafka.tls }}
{{- if .enabled }}
kafka.tls: "true"
{{- include "toolstream.tls" (dict "of" "kafka" "tls" .) }}
{{- end }}
{{- end }}
kafka.sasl: {{ $v.kafka.sasl.mechanism }}
nats.url: {{ include "toolstream.nats" . | quote }}
nats.prefix: {{ $v.nats.prefix | default "toolstream" | quote }}
{{- with $v.nats }}
{{- if and .existingSecret .credentialsKey }}
nats.credentials_file: /run/toolstream/nats/credentials
{{- end }}
{{- if and .existingSecret .nkeyKey }}
nats.nkey_file: /run/toolstream/nats/nkey
{{- end }}
{{- include "toolstream.tls" (dict "of" "nats" "tls" .tls) }}
{{- end }}
{{- with include "toolstream.weaviate" . }}
weaviate.url: {{ quote . }}
weaviate.grpc: {{ include "toolstream.weaviateGRPC" $ }}
{{- end }}
{{- $scheme := include "toolstream.scheme" . }}
peers.ingest: {{ $scheme }}://{{ include "toolstream.fullname" . }}-ingest:8665
peers.query: {{ $scheme }}://{{ include "toolstream.fullname" . }}-query:8665
peers.trainer: {{ $scheme }}://{{ include "toolstream.fullname" . }}-trainer:8665
{{- if and $v.tls.existingSecret $v.tls.caKey }}
peers.ca_file: /run/toolstream/tls/ca.crt
{{- end }}
{{- end }}
{{- range $name, $value := $v.settings }}
{{ $name }}: {{ include "toolstream.value" $value | quote }}
{{- end }}
{{- end }}

{{/* A setting as text: whole numbers without an exponent, mappings as JSON. */}}
{{- define "toolstream.value" -}}
{{- if kindIs "map" . }}{{ toJson . }}{{ else if and (kindIs "float64" .) (eq (. | int64 | float64) .) }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{- define "toolstream.tls" -}}
{{- $dir := printf "/run/toolstream/%s-tls" .of }}
{{- if and .tls.existingSecret .tls.caKey }}
{{ .of }}.ca_file: {{ $dir }}/ca.crt
{{- end }}
{{- if and .tls.existingSecret .tls.certKey }}
{{ .of }}.cert_file: {{ $dir }}/tls.crt
{{ .of }}.key_file: {{ $dir }}/tls.key
{{- end }}
{{- end }}

{{/* The environment that a ConfigMap gives every service. */}}
{{- define "toolstream.environment" -}}
{{- range $name, $value := include "toolstream.settings" . | fromYaml }}
TOOLSTREAM_{{ $name | replace "." "_" | upper }}: {{ $value | toString | quote }}
{{- end }}
{{- with .Values.tracing }}
{{- if .endpoint }}
OTEL_EXPORTER_OTLP_ENDPOINT: {{ .endpoint | quote }}
OTEL_EXPORTER_OTLP_PROTOCOL: {{ .protocol }}
OTEL_TRACES_SAMPLER: {{ .sampler }}
OTEL_TRACES_SAMPLER_ARG: {{ .ratio | toString | quote }}
{{- end }}
{{- range $name, $value := .env }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* Which of the others a service speaks to: what it needs is all that it is given. */}}
{{- define "toolstream.uses" -}}
{{- $v := .root.Values }}
{{- $apart := ne $v.mode "embedded" }}
{{- $model := has .service (list "embedder" "query" "trainer" "embedded") }}
{{- $language := and (not (empty $v.llm.baseUrl)) (has .service (list "standardizer" "query" "embedded")) }}
kafka: {{ $apart }}
nats: {{ $apart }}
weaviate: {{ and (not (empty (include "toolstream.weaviate" .root))) (has .service (list "ingest" "embedder" "query")) }}
embedding: {{ and (eq $v.embedding.model "http") $model }}
llm: {{ $language }}
rerank: {{ and (not (empty $v.rerank.url)) (has .service (list "query" "embedded")) }}
tracing: {{ not (empty (include "toolstream.collectors" .root)) }}
{{- end }}

{{/* Where traces and figures are sent. */}}
{{- define "toolstream.collectors" -}}
{{- $all := list }}
{{- with .Values.tracing.endpoint }}{{ $all = append $all . }}{{ end }}
{{- range $name, $value := .Values.tracing.env }}
{{- if hasSuffix "_ENDPOINT" $name }}{{ $all = append $all $value }}{{ end }}
{{- end }}
{{- join "," $all }}
{{- end }}

{{/* The environment of a service that comes from secrets: its own, or those of all. */}}
{{- define "toolstream.secrets" -}}
{{- $v := .root.Values }}
{{- $own := (index $v .service).secrets | default dict }}
{{- $uses := include "toolstream.uses" . | fromYaml }}
{{- if $uses.kafka }}
{{- with $v.kafka.sasl }}
{{- if ne .mechanism "none" }}
- name: TOOLSTREAM_KAFKA_USERNAME
  valueFrom:
    secretKeyRef: {name: {{ $own.kafka | default .existingSecret }}, key: {{ .usernameKey }}}
- name: TOOLSTREAM_KAFKA_PASSWORD
  valueFrom:
    secretKeyRef: {name: {{ $own.kafka | default .existingSecret }}, key: {{ .passwordKey }}}
{{- end }}
{{- end }}
{{- end }}
{{- with $v.nats }}
{{- if and $uses.nats .existingSecret .tokenKey }}
- name: TOOLSTREAM_NATS_TOKEN
  valueFrom:
    secretKeyRef: {name: {{ $own.nats | default .existingSecret }}, key: {{ .tokenKey }}}
{{- end }}
{{- end }}
{{- with $v.weaviate }}
{{- if and $uses.weaviate .existingSecret }}
- name: TOOLSTREAM_WEAVIATE_API_KEY
  valueFrom:
    secretKeyRef: {name: {{ $own.weaviate | default .existingSecret }}, key: {{ .apiKeyKey }}}
{{- end }}
{{- end }}
{{- with $v.embedding }}
{{- if and $uses.embedding .existingSecret }}
- name: TOOLSTREAM_EMBEDDER_API_KEY
  valueFrom:
    secretKeyRef: {name: {{ .existingSecret }}, key: {{ .apiKeyKey }}}
{{- end }}
{{- end }}
{{- with $v.rerank }}
{{- if and $uses.rerank .existingSecret }}
- name: TOOLSTREAM_RERANK_API_KEY
  valueFrom:
    secretKeyRef: {name: {{ .existingSecret }}, key: {{ .apiKeyKey }}}
{{- end }}
{{- end }}
{{- with $v.tracing }}
{{- if and $uses.tracing .existingSecret }}
- name: OTEL_EXPORTER_OTLP_HEADERS
  valueFrom:
    secretKeyRef: {name: {{ .existingSecret }}, key: {{ .headersKey }}}
{{- end }}
{{- end }}
{{- end }}

{{/* Secrets that a service reads as files, by the folder below /run/toolstream. */}}
{{- define "toolstream.files" -}}
{{- $v := .root.Values }}
{{- $own := (index $v .service).secrets | default dict }}
{{- $uses := include "toolstream.uses" . | fromYaml }}
{{- with include "toolstream.tokensSecret" .root }}
auth:
  secretName: {{ . }}
  defaultMode: 0440
  items: [{key: {{ $v.auth.tokensKey }}, path: tokens}]
{{- end }}
{{- with $v.auth.certificates }}
{{- if .existingSecret }}
clients:
  secretName: {{ .existingSecret }}
  defaultMode: 0440
  items: [{key: {{ .caKey }}, path: ca.crt}]
{{- end }}
{{- end }}
{{- with $v.sources.existingSecret }}
{{- if has $.service (list "ingest" "query" "embedded") }}
sources:
  secretName: {{ . }}
  defaultMode: 0440
{{- end }}
{{- end }}
{{- with $v.llm }}
{{- if and $uses.llm .existingSecret }}
llm:
  secretName: {{ .existingSecret }}
  defaultMode: 0440
  items: [{key: {{ .apiKeyKey }}, path: api-key}]
{{- end }}
{{- end }}
{{- with $v.nats }}
{{- if and $uses.nats .existingSecret (or .credentialsKey .nkeyKey) }}
nats:
  secretName: {{ $own.nats | default .existingSecret }}
  defaultMode: 0440
  items:
    {{- with .credentialsKey }}
    - {key: {{ replace "{service}" $.service . }}, path: credentials}
    {{- end }}
    {{- with .nkeyKey }}
    - {key: {{ replace "{service}" $.service . }}, path: nkey}
    {{- end }}
{{- end }}
{{- end }}
{{- $tls := dict }}
{{- if $v.tls.existingSecret }}{{ $tls = merge $tls (dict "tls" (dict "own" $own.tls "of" $v.tls)) }}{{ end }}
{{- if $uses.nats }}{{ $tls = merge $tls (dict "nats-tls" (dict "own" $own.natsTLS "of" $v.nats.tls)) }}{{ end }}
{{- if and $uses.kafka $v.kafka.tls.enabled }}{{ $tls = merge $tls (dict "kafka-tls" (dict "own" $own.kafkaTLS "of" $v.kafka.tls)) }}{{ end }}
{{- range $name, $secret := $tls }}
{{- $t := $secret.of }}
{{- if and $t.existingSecret (or $t.caKey $t.certKey) }}
{{ $name }}:
  secretName: {{ $secret.own | default $t.existingSecret }}
  defaultMode: 0440
  items:
    {{- with $t.caKey }}
    - {key: {{ . }}, path: ca.crt}
    {{- end }}
    {{- with $t.certKey }}
    - {key: {{ . }}, path: tls.crt}
    - {key: {{ $t.keyKey }}, path: tls.key}
    {{- end }}
{{- end }}
{{- end }}
{{- end }}
