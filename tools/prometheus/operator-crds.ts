// The CRDs of the Prometheus Operator, which are published with its Go module.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { moduleFiles } from '../control-plane/go-module.ts'

const MODULE = 'github.com/prometheus-operator/prometheus-operator@v0.85.0'
const SUM = 'h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s='
const FOLDER = 'example/prometheus-operator-crd'
const NAMES = ['prometheusrules', 'servicemonitors'].map(
  (name) => `monitoring.coreos.com_${name}.yaml`,
)
const OTHERWISE = 'install Go, or set PROMETHEUS_OPERATOR_CRDS to a folder that holds its CRDs'

/**
 * Files with the CRDs of ServiceMonitor and PrometheusRule: from the folder that PROMETHEUS_OPERATOR_CRDS names,
 * else from the Go module, which Go keeps in its cache.
 *
 * @throws Error when Go is missing, can't get the module, or gets another than the one pinned here
 */
export async function prometheusOperatorCrds(): Promise<readonly string[]> {
  const named = process.env['PROMETHEUS_OPERATOR_CRDS'] ?? ''
  if (named === '') {
    const files = NAMES.map((name) => join(FOLDER, name))
    return await moduleFiles({ module: MODULE, sum: SUM, files }, OTHERWISE)
  }
  const paths = NAMES.map((name) => join(named, name))
  const missing = paths.filter((path) => !existsSync(path))
  if (missing.length > 0) throw new Error(`there is no ${missing.join(', ')}`)
  return paths
}
