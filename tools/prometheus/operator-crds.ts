// The CRDs of the Prometheus Operator, which are published with its Go module.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const MODULE = 'github.com/prometheus-operator/prometheus-operator@v0.85.0'
/** Go's checksum of that version, so that its content can't change. */
const SUM = 'h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s='
const FOLDER = 'example/prometheus-operator-crd'
const NAMES = ['prometheusrules', 'servicemonitors'] as const

/**
 * Files with the CRDs of ServiceMonitor and PrometheusRule: from the folder that PROMETHEUS_OPERATOR_CRDS names,
 * else from the Go module, which Go keeps in its cache.
 *
 * @throws Error when Go is missing, can't get the module, or gets another than the one pinned here
 */
export async function prometheusOperatorCrds(): Promise<readonly string[]> {
  const named = process.env['PROMETHEUS_OPERATOR_CRDS'] ?? ''
  const folder = named === '' ? join(await moduleFolder(), FOLDER) : named
  const files = NAMES.map((name) => join(folder, `monitoring.coreos.com_${name}.yaml`))
  const missing = files.filter((file) => !existsSync(file))
  if (missing.length > 0) throw new Error(`there is no ${missing.join(', ')}`)
  return files
}

async function moduleFolder(): Promise<string> {
  const { Dir, Sum, Error: why } = await downloaded()
  if (Dir === undefined) throw new Error(`go can't download ${MODULE}: ${why}`)
  if (Sum !== SUM) throw new Error(`${MODULE} has the sum ${Sum}, not ${SUM}`)
  return Dir
}

interface Download {
  readonly Dir?: string
  readonly Sum?: string
  readonly Error?: string
}

async function downloaded(): Promise<Download> {
  const env = { ...process.env, GOFLAGS: '', GOWORK: 'off' }
  const args = ['mod', 'download', '-json', MODULE]
  try {
    // Runs in a folder without a go.mod, so that no other module decides on the version.
    const { stdout } = await promisify(execFile)('go', args, { cwd: tmpdir(), env })
    return JSON.parse(stdout) as Download
  } catch (cause) {
    const { stdout = '', message } = cause as Error & { readonly stdout?: string }
    if (stdout.trim().startsWith('{')) return JSON.parse(stdout) as Download
    const otherwise = 'install Go, or set PROMETHEUS_OPERATOR_CRDS to a folder that holds its CRDs'
    throw new Error(`go can't download ${MODULE}: ${message}\nEither ${otherwise}.`, { cause })
  }
}
