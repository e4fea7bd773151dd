{{- /* Shared by both charts: edit it in charts/management-operator, `make generate` copies it. */ -}}

{{- /* The tag or digest of the image. */ -}}
{{- define "management-operator.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- /* What every object of a release carries. */ -}}
{{- define "management-operator.labels" -}}
app.kubernetes.io/name: management-operator
app.kubernetes.io/part-of: {{ include "management-operator.partOf" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- /* Labels by which Services, policies and budgets find the pods of a component: (dict "component" "gateway"). */ -}}
{{- define "management-operator.selector" -}}
app.kubernetes.io/name: management-operator
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- /* Metadata of an object of the namespace: (dict "root" $ "name" "gateway" "component" "gateway"), and another namespace. */ -}}
{{- define "management-operator.metadata" -}}
name: {{ .name }}
namespace: {{ .namespace | default .root.Values.namespace | quote }}
labels:
  {{- include "management-operator.labels" .root | nindent 2 }}
  {{- with .component }}
  app.kubernetes.io/component: {{ . }}
  {{- end }}
{{- end -}}

{{- /* Labels of pods: without the chart's, which change with each version of the chart. */ -}}
{{- define "management-operator.podLabels" -}}
app.kubernetes.io/name: management-operator
app.kubernetes.io/part-of: {{ include "management-operator.partOf" .root }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- /*
A file of files/, which is generated from config/, with the namespace and the labels of this release. It is text, not parsed:
numbers that Helm parses come back as floats. (dict "root" $ "file" "kinds.yaml")
*/ -}}
{{- define "management-operator.file" -}}
{{- $partOf := printf "app.kubernetes.io/part-of: %s" (include "management-operator.partOf" .root) -}}
{{- $chart := printf "helm.sh/chart: %s-%s" .root.Chart.Name (.root.Chart.Version | replace "+" "_") -}}
{{- $managedBy := printf "app.kubernetes.io/managed-by: %s" .root.Release.Service -}}
{{- .root.Files.Get (printf "files/%s" .file)
  | replace "namespace: platform-system\n" (printf "namespace: %s\n" (.root.Values.namespace | quote))
  | replace "namespace: platform-system-sign-in\n" (printf "namespace: %s\n" (printf "%s-sign-in" .root.Values.namespace | quote))
  | replace (printf "\n    %s\n" $partOf) (printf "\n    %s\n    %s\n    %s\n" $partOf $managedBy $chart) -}}
{{- end -}}

{{- /* The pod of a component up to its containers: (dict "root" $ "component" "gateway" "values" .Values.gateway), and fsGroup. */ -}}
{{- define "management-operator.pod" -}}
serviceAccountName: {{ .component }}
# The account itself says no, so that no other pod gets its token by accident.
automountServiceAccountToken: true
enableServiceLinks: false
# The program takes up to 30 s to end in order.
terminationGracePeriodSeconds: 40
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  {{- with .fsGroup }}
  fsGroup: {{ . }}
  {{- end }}
  {{- if include "management-operator.auditVolume" . }}
  fsGroupChangePolicy: OnRootMismatch
  {{- end }}
  seccompProfile:
    type: RuntimeDefault
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
{{- if .values.topologySpreadConstraints }}
  {{- toYaml .values.topologySpreadConstraints | nindent 2 }}
{{- else }}
# Apart where there is room, together where there is none.
{{- $component := .component }}
{{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
- maxSkew: 1
  topologyKey: {{ $key }}
  whenUnsatisfiable: ScheduleAnyway
  matchLabelKeys: [pod-template-hash]
  labelSelector:
    matchLabels:
      {{- include "management-operator.selector" (dict "component" $component) | nindent 6 }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* Probes: two minutes to start on a machine that is busy; health does not depend on the API server. */ -}}
{{- define "management-operator.probes" -}}
startupProbe:
  httpGet:
    path: /healthz
    port: health
  periodSeconds: 2
  timeoutSeconds: 5
  failureThreshold: 60
livenessProbe:
  httpGet:
    path: /healthz
    port: health
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet:
    path: /readyz
    port: health
  periodSeconds: 5
  timeoutSeconds: 5
{{- end -}}

{{- /* A container up to its arguments: (dict "root" $ "component" "gateway" "values" .Values.gateway). */ -}}
{{- define "management-operator.container" -}}
name: {{ .component }}
image: {{ include "management-operator.image" .root | quote }}
{{- with .root.Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
env:
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
{{- if include "management-operator.auditVolume" . }}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
{{- end }}
{{- if eq .component "delivery" }}
- name: MALLOC_ARENA_MAX
  value: "1"
{{- end }}
{{ include "management-operator.probes" . }}
{{- with .values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end -}}

{{- /* Flags that both programs have. */ -}}
{{- define "management-operator.args" -}}
{{- with .root.Values.issuerURL }}
- {{ printf "--issuer-url=%s" . | quote }}
{{- end }}
{{- range .values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{- /* Whether each pod has a volume for the audit log: empty = no. (dict "values" .Values.gateway) */ -}}
{{- define "management-operator.auditVolume" -}}
{{- if (.values.audit | default dict).enabled -}}yes{{- end -}}
{{- end -}}

{{- /* The kind that runs the pods: one with volumes of theirs gives each pod a name that stays. */ -}}
{{- define "management-operator.workload" -}}
{{- if include "management-operator.auditVolume" . -}}StatefulSet{{- else -}}Deployment{{- end -}}
{{- end -}}

{{- /* How pods of that kind are replaced: of a Deployment old ones go when their successors are ready, up to its replicas. */ -}}
{{- define "management-operator.rollout" -}}
{{- if include "management-operator.auditVolume" . -}}
serviceName: {{ .component }}
# A replica does not wait for the ones before it.
podManagementPolicy: Parallel
{{- else -}}
strategy:
  rollingUpdate:
    maxSurge: 1
    maxUnavailable: 0
{{- end }}
selector:
  matchLabels:
    {{- include "management-operator.selector" . | nindent 4 }}
{{- end -}}

{{- /* The mount of that volume. */ -}}
{{- define "management-operator.auditMount" -}}
- name: audit
  mountPath: /var/log/audit
{{- end -}}

{{- /* The claims of that volume, one for each pod: the value `audit`. */ -}}
{{- define "management-operator.auditClaims" -}}
volumeClaimTemplates:
- metadata:
    name: audit
  spec:
    accessModes: [ReadWriteOnce]
    {{- with .storageClassName }}
    storageClassName: {{ . | quote }}
    {{- end }}
    resources:
      requests:
        storage: {{ .size | quote }}
{{- end -}}

{{- /*
Metadata of an object for Prometheus or Grafana: (dict "root" $ "name" "management-operator" "labels" {...}). A label of the value
takes the place of the chart's: twice it would be no YAML for Flux and kustomize.
*/ -}}
{{- define "management-operator.monitoringMetadata" -}}
name: {{ .name }}
namespace: {{ .root.Values.namespace | quote }}
labels:
  {{- merge (dict) (.labels | default dict) (include "management-operator.labels" .root | fromYaml) | toYaml | nindent 2 }}
{{- end -}}

{{- /* The type of a Service, and what a load balancer needs besides: the values of it. */ -}}
{{- define "management-operator.serviceType" -}}
{{- with .type -}}
type: {{ . }}
{{- end }}
{{- with .loadBalancerClass }}
loadBalancerClass: {{ . | quote }}
{{- end }}
{{- with .loadBalancerSourceRanges }}
loadBalancerSourceRanges:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Where Prometheus finds the metrics of each replica of a component. */ -}}
{{- define "management-operator.metricsService" -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "management-operator.metadata" (dict "root" .root "name" (printf "%s-metrics" .component) "component" .component "namespace" .namespace) | nindent 2 }}
spec:
  clusterIP: None
  # A replica that is not ready has metrics too, and those are wanted most.
  publishNotReadyAddresses: true
  selector:
    {{- include "management-operator.selector" . | nindent 4 }}
  ports:
  - name: metrics
    port: 8080
    targetPort: metrics
{{- end -}}

{{- /* Whether the older right to impersonate is needed: empty = no. */ -}}
{{- define "management-operator.legacyImpersonation" -}}
{{- $isOlder := semverCompare "<1.36.0-0" .Capabilities.KubeVersion.Version -}}
{{- if or (eq .Values.legacyImpersonation "always") (and (eq .Values.legacyImpersonation "auto") $isOlder) -}}yes{{- end -}}
{{- end -}}
