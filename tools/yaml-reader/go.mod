// A small program, with which a test asks how the API server reads YAML.
module management.platform.sh/tools/yaml-reader

go 1.26.0

require sigs.k8s.io/yaml v1.6.0

require go.yaml.in/yaml/v2 v2.4.3 // indirect
