{{- /* Not a part of the platform: its uninstallation leaves direct endpoints as they are. */ -}}
{{- define "management-operator.partOf" -}}management-operator-direct{{- end -}}
