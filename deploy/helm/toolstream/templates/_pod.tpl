{{/*
The template of a pod, of the root and the name of a service. /healthz answers
once what the service keeps is open, and as long as it runs; /readyz while it
takes work: what it was given is read, and Kafka answers.
*/}}
{{- define "toolstream.pod" -}}
{{- $root := .root }}
{{- $v := .root.Values }}
{{- $service := .service }}
{{- $s := index $v .service }}
{{- $https := ternary "" ", scheme: HTTPS" (empty $v.tls.existingSecret) }}
{{- $files := include "toolstream.files" . | fromYaml }}
metadata:
  annotations:
    checksum/config: {{ include "toolstream.environment" .root | sha256sum }}
    {{- with $s.pod.annotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  labels:
    {{- include "toolstream.selector" .root | trim | nindent 4 }}
    app.kubernetes.io/component: {{ .service }}
    {{- with $s.pod.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "toolstream.serviceAccount" .root }}
  automountServiceAccountToken: {{ and $v.sources.kubernetes.enabled (has .service (list "ingest" "embedded")) }}
  # The variables of Services would be read as settings: TOOLSTREAM_….
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ $v.terminationGracePeriodSeconds }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  {{- with $v.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  containers:
    - name: toolstream
      image: {{ include "toolstream.image" .root }}
      imagePullPolicy: {{ $v.image.pullPolicy }}
      args: {{ if eq .service "embedded" }}[up]{{ else }}[serve, {{ .service }}]{{ end }}
      envFrom:
        - configMapRef: {name: {{ include "toolstream.fullname" .root }}}
      env:
        - name: GOMEMLIMIT
          value: {{ include "toolstream.memory" $s.resources.limits.memory }}
        {{- with include "toolstream.secrets" . | trim }}
        {{- . | nindent 8 }}
        {{- end }}
      ports:
        - {name: http, containerPort: 8665}
      # Opening an index reads its files from end to end: a few hundred MB a second.
      startupProbe:
        httpGet: {path: /healthz, port: http{{ $https }}}
        periodSeconds: 2
        failureThreshold: 150
      livenessProbe:
        httpGet: {path: /healthz, port: http{{ $https }}}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      # A dependency is asked for two seconds before it counts as away.
      readinessProbe:
        httpGet: {path: /readyz, port: http{{ $https }}}
        periodSeconds: 5
        timeoutSeconds: 4
        failureThreshold: 2
      lifecycle:
        preStop:
          sleep: {seconds: {{ $v.preStopSeconds }}}
      resources:
        {{- toYaml $s.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      volumeMounts:
        - {name: data, mountPath: /data}
        {{- range $name, $file := $files }}
        - {name: {{ $name }}, mountPath: /run/toolstream/{{ $name }}, readOnly: true}
        {{- end }}
  volumes:
    {{- if eq .service "embedded" }}
    {{- with $s.persistence.existingClaim }}
    - name: data
      persistentVolumeClaim: {claimName: {{ . }}}
    {{- end }}
    {{- else if eq .service "query" }}
    - name: data
      {{- if eq $s.data.type "emptyDir" }}
      emptyDir: {sizeLimit: {{ $s.data.size }}}
      {{- else }}
      ephemeral:
        volumeClaimTemplate:
          spec:
            {{- include "toolstream.claim" $s.data | trim | nindent 12 }}
      {{- end }}
    {{- else }}
    - name: data
      emptyDir: {sizeLimit: {{ ternary "2Gi" "1Gi" (eq .service "trainer") }}}
    {{- end }}
    {{- range $name, $file := $files }}
    - name: {{ $name }}
      secret:
        {{- toYaml $file | nindent 8 }}
    {{- end }}
  {{- if $v.topologySpread.enabled }}
  topologySpreadConstraints:
    {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: {{ $v.topologySpread.whenUnsatisfiable }}
      labelSelector:
        matchLabels:
          {{- include "toolstream.selector" $root | trim | nindent 10 }}
          app.kubernetes.io/component: {{ $service }}
      matchLabelKeys: [{{ if eq $service "embedded" }}controller-revision-hash{{ else }}pod-template-hash{{ end }}]
    {{- end }}
  {{- end }}
  {{- with $s.pod.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- range $key := list "nodeSelector" "tolerations" "affinity" }}
  {{- with index $s.pod $key }}
  {{ $key }}:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
{{- end }}

{{- define "toolstream.claim" -}}
accessModes: [ReadWriteOnce]
{{- with .storageClass }}
storageClassName: {{ . }}
{{- end }}
resources:
  requests: {storage: {{ .size }}}
{{- end }}
