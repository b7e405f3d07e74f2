{{- define "toolstream.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Names end with that of a service, the longest of which is -standardizer. */}}
{{- define "toolstream.fullname" -}}
{{- $name := include "toolstream.name" . }}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) }}
{{- .Values.fullnameOverride | default $full | trunc 45 | trimSuffix "-" }}
{{- end }}

{{- define "toolstream.serviceAccount" -}}
{{- $none := ternary (include "toolstream.fullname" .) "default" .Values.serviceAccount.create }}
{{- .Values.serviceAccount.name | default $none }}
{{- end }}

{{/* The secret that shows the first token; empty where the values say who may call. */}}
{{- define "toolstream.firstAdmin" -}}
{{- with .Values.auth }}
{{- if and (eq .mode "auto") (not .existingSecret) (not .certificates.existingSecret) (not (index $.Values.settings "auth.oidc.issuer")) -}}
{{ include "toolstream.fullname" $ }}-first-admin
{{- end }}
{{- end }}
{{- end }}

{{/* The secret with the file of tokens; empty without one. */}}
{{- define "toolstream.tokensSecret" -}}
{{- if .Values.auth.existingSecret }}{{ .Values.auth.existingSecret }}
{{- else if include "toolstream.firstAdmin" . }}{{ include "toolstream.fullname" . }}-first-tokens
{{- end }}
{{- end }}

{{- define "toolstream.image" -}}
{{- with .Values.image }}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* What names the pods of a release, and never changes. */}}
{{- define "toolstream.selector" -}}
app.kubernetes.io/name: {{ include "toolstream.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "toolstream.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "toolstream.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: toolstream
{{- end }}

{{/* The services of the mode. */}}
{{- define "toolstream.services" -}}
{{- if eq .Values.mode "embedded" -}}
services: [embedded]
{{- else -}}
services: [ingest, standardizer, embedder, query, trainer]
{{- end }}
{{- end }}

{{/* The services that scale: there is one trainer, and one process of mode embedded. */}}
{{- define "toolstream.scaled" -}}
{{- if eq .Values.mode "embedded" -}}
services: []
{{- else -}}
services: [ingest, standardizer, embedder, query]
{{- end }}
{{- end }}

{{/* Where documents are taken, and where searches are answered. */}}
{{- define "toolstream.ingest" -}}
{{ include "toolstream.fullname" . }}-{{ ternary "embedded" "ingest" (eq .Values.mode "embedded") }}
{{- end }}
{{- define "toolstream.query" -}}
{{ include "toolstream.fullname" . }}-{{ ternary "embedded" "query" (eq .Values.mode "embedded") }}
{{- end }}

{{/* What clients outside ask of query: paths, and what others begin with. Ingest has the rest of /v1/. */}}
{{- define "toolstream.paths" -}}
exact: [/, /mcp, /openapi.json, /openapi.yaml, /v1/feedback, /v1/search]
prefix: [/.well-known/oauth-protected-resource, /console/, /v0.1/]
{{- end }}

{{/* How pods are spoken to: http or https. */}}
{{- define "toolstream.scheme" -}}
{{ ternary "https" "http" (not (empty .Values.tls.existingSecret)) }}
{{- end }}

{{/* Where somebody outside of the cluster reaches it; on loopback by a port-forward. */}}
{{- define "toolstream.reached" -}}
{{- if and .Values.ingress.enabled .Values.ingress.hosts -}}
{{ ternary "https" "http" (not (empty .Values.ingress.tls)) }}://{{ first .Values.ingress.hosts }}
{{- else if and .Values.httpRoute.enabled .Values.httpRoute.hostnames -}}
https://{{ first .Values.httpRoute.hostnames }}
{{- else -}}
{{ include "toolstream.scheme" . }}://127.0.0.1:8665
{{- end }}
{{- end }}

{{- define "toolstream.brokers" -}}
{{- if eq .Values.mode "trial" }}{{ .Release.Name }}-trial-kafka:9092{{ else }}{{ join "," .Values.kafka.brokers }}{{ end }}
{{- end }}

{{- define "toolstream.nats" -}}
{{- if eq .Values.mode "trial" }}nats://{{ .Release.Name }}-trial-nats:4222{{ else }}{{ .Values.nats.url }}{{ end }}
{{- end }}

{{- define "toolstream.weaviate" -}}
{{- if and (eq .Values.mode "trial") .Values.trial.weaviate }}http://{{ .Release.Name }}-trial-weaviate:8080{{ else }}{{ .Values.weaviate.url }}{{ end }}
{{- end }}

{{- define "toolstream.weaviateGRPC" -}}
{{- if and (eq .Values.mode "trial") .Values.trial.weaviate }}{{ .Release.Name }}-trial-weaviate:50051{{ else }}{{ .Values.weaviate.grpc }}{{ end }}
{{- end }}

{{/* Nine tenths of a limit of memory: what Go keeps to before the kernel ends the process. */}}
{{- define "toolstream.memory" -}}
{{- $mi := trimSuffix "Mi" . }}
{{- if hasSuffix "Gi" . }}{{ $mi = mul (trimSuffix "Gi" . | int64) 1024 }}{{ end }}
{{- div (mul (int64 $mi) 9) 10 }}MiB
{{- end }}

{{/* The port of host:port or of an address, else that of its scheme. */}}
{{- define "toolstream.port" -}}
{{- $host := regexReplaceAll "^[a-z]+://" . "" | regexFind "^[^/?]+" }}
{{- if regexMatch ":[0-9]+$" $host }}{{ regexFind "[0-9]+$" $host }}
{{- else if or (hasPrefix "nats" .) (hasPrefix "tls" .) }}4222
{{- else if or (hasPrefix "https" .) (hasPrefix "wss" .) }}443
{{- else }}80
{{- end }}
{{- end }}

{{/* Over how long a rate is taken: four scrapes, and a minute at least. */}}
{{- define "toolstream.rateWindow" -}}
{{- $interval := .Values.metrics.serviceMonitor.interval }}
{{- $n := regexFind "^[0-9]+" $interval | int }}
{{- $seconds := ternary (mul $n 60) (ternary (div $n 1000) $n (hasSuffix "ms" $interval)) (hasSuffix "m" $interval) }}
{{- max 60 (mul 4 $seconds) }}s
{{- end }}
