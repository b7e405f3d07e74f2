{{/* What values.schema.json cannot say. */}}
{{- define "toolstream.checks" -}}
{{- $v := .Values }}
{{- if eq $v.mode "distributed" }}
  {{- if not $v.kafka.brokers }}
    {{- fail "mode distributed needs Kafka: set kafka.brokers to [host:port, …], or mode to trial or embedded" }}
  {{- end }}
  {{- if not $v.nats.url }}
    {{- fail "mode distributed needs NATS: set nats.url to nats://host:4222, or mode to trial or embedded" }}
  {{- end }}
{{- else if or $v.kafka.brokers $v.nats.url }}
  {{- fail (printf "kafka.brokers and nats.url are for mode distributed, and mode is %s: set mode to distributed, or remove them" $v.mode) }}
{{- end }}
{{- if and (eq $v.auth.mode "none") (or $v.auth.existingSecret $v.auth.certificates.existingSecret (index $v.settings "auth.oidc.issuer")) }}
  {{- fail "auth.mode none makes every caller an admin: remove auth.existingSecret, auth.certificates.existingSecret and settings.auth.oidc.issuer, or set auth.mode to auto" }}
{{- end }}
{{- if and $v.auth.certificates.existingSecret (not (and $v.tls.existingSecret (index $v.settings "auth.certificates.callers"))) }}
  {{- fail "auth.certificates.existingSecret is set: set tls.existingSecret, and settings.auth\\.certificates\\.callers to {ID: {tenant: …, role: …}}" }}
{{- end }}
{{- if and $v.sources.kubernetes.enabled (not $v.sources.kubernetes.namespaces) }}
  {{- fail "sources.kubernetes.enabled is set: set sources.kubernetes.namespaces to {TENANT: [NAMESPACE, …]}" }}
{{- end }}
{{- if ne (empty $v.weaviate.url) (empty $v.weaviate.grpc) }}
  {{- fail "weaviate.url and weaviate.grpc belong together: set both, or none" }}
{{- end }}
{{- if and $v.llm.baseUrl (not $v.llm.model) }}
  {{- fail "llm.baseUrl is set: set llm.model to a model of the endpoint" }}
{{- end }}
{{- if ne (eq $v.rerank.model "http") (ne $v.rerank.url "") }}
  {{- fail "rerank.url and rerank.model http belong together: set both, or none" }}
{{- end }}
{{- if and $v.rerank.url (eq $v.rerank.form "cohere") (not $v.rerank.name) }}
  {{- fail "rerank.url is set: set rerank.name to a model of the endpoint, or rerank.form to tei" }}
{{- end }}
{{- if and (eq $v.embedding.model "http") (not (and $v.embedding.url $v.embedding.name)) }}
  {{- fail "embedding.model is http: set embedding.url and embedding.name" }}
{{- end }}
{{- if and (ne $v.kafka.sasl.mechanism "none") (not $v.kafka.sasl.existingSecret) }}
  {{- fail "kafka.sasl.mechanism is set: set kafka.sasl.existingSecret to a secret with user and password" }}
{{- end }}
{{- range $s := (include "toolstream.scaled" . | fromYaml).services }}
  {{- $a := (index $v $s).autoscaling }}
  {{- if lt (int $a.maxReplicas) (int $a.minReplicas) }}
    {{- fail (printf "%s.autoscaling.maxReplicas is less than minReplicas" $s) }}
  {{- end }}
  {{- if and (eq $a.type "keda") (not ($.Capabilities.APIVersions.Has "keda.sh/v1alpha1")) }}
    {{- fail (printf "%s.autoscaling.type is keda, but this cluster has no KEDA (API keda.sh/v1alpha1): install it, or use hpa" $s) }}
  {{- end }}
{{- end }}
{{- $partitions := int (index $v.settings "kafka.partitions" | default 6) }}
{{- range $s := list "standardizer" "embedder" }}
  {{- $a := (index $v $s).autoscaling }}
  {{- if and (ne $a.type "none") (gt (int $a.maxReplicas) $partitions) }}
    {{- fail (printf "%s.autoscaling.maxReplicas is %d, but topics have %d partitions, and more replicas would have no work: set settings.kafka\\.partitions to the partitions of your topics" $s (int $a.maxReplicas) $partitions) }}
  {{- end }}
{{- end }}
{{- with $v.query.autoscaling }}
  {{- if and (eq .type "keda") .inFlight (not .prometheusUrl) }}
    {{- fail "query.autoscaling.inFlight with keda asks Prometheus: set query.autoscaling.prometheusUrl" }}
  {{- end }}
{{- end }}
{{- if and $v.ingress.enabled (not $v.ingress.hosts) }}
  {{- fail "ingress.enabled is set: set ingress.hosts to the host names of the API" }}
{{- end }}
{{- if and $v.httpRoute.enabled (not $v.httpRoute.parentRefs) }}
  {{- fail "httpRoute.enabled is set: set httpRoute.parentRefs to your Gateway" }}
{{- end }}
{{- if and $v.httpRoute.enabled (not (.Capabilities.APIVersions.Has "gateway.networking.k8s.io/v1")) }}
  {{- fail "httpRoute.enabled is set, but this cluster has no Gateway API (gateway.networking.k8s.io/v1): install it, or use ingress" }}
{{- end }}
{{- end }}
