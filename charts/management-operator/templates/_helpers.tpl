{{- /* The whole that these objects are a part of: an uninstallation looks for it. */ -}}
{{- define "management-operator.partOf" -}}management-operator{{- end -}}

{{- /* The Secret with the serving certificate of the gateways, where they don't make their own. */ -}}
{{- define "management-operator.tlsSecretName" -}}
{{ .Values.gateway.tls.secretName | default "gateway-certificate" }}
{{- end -}}

{{- /* The Secret whose ca.crt, if it has one, proves the gateways. */ -}}
{{- define "management-operator.servingSecretName" -}}
{{- if eq .Values.gateway.tls.mode "own" -}}platform-gateway-tls{{- else -}}{{ include "management-operator.tlsSecretName" . }}{{- end -}}
{{- end -}}

{{- /* The namespace of the sign-in process. */ -}}
{{- define "management-operator.signInNamespace" -}}
{{ .Values.namespace }}-sign-in
{{- end -}}

{{- /* Finds manager, gateway, delivery and sign-in process: Services as well as pods. */ -}}
{{- define "management-operator.scraped" -}}
matchLabels:
  app.kubernetes.io/name: management-operator
matchExpressions:
- key: app.kubernetes.io/component
  operator: In
  values: {{ if .Values.signIn.enabled }}[manager, gateway, delivery, sign-in]{{ else }}[manager, gateway, delivery]{{ end }}
{{- end -}}

{{- /* Where they are, besides the namespace of the object that finds them. */ -}}
{{- define "management-operator.scrapedNamespaces" -}}
{{- if .Values.signIn.enabled }}
namespaceSelector:
  matchNames:
  - {{ .Values.namespace | quote }}
  - {{ include "management-operator.signInNamespace" . | quote }}
{{- end }}
{{- end -}}
