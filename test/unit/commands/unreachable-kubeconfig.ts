import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const KUBECONFIG = {
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'none', cluster: { server: 'https://127.0.0.1:1' } }],
  users: [{ name: 'none', user: { token: 'x' } }],
  contexts: [{ name: 'none', context: { cluster: 'none', user: 'none' } }],
  'current-context': 'none',
}

/** A kubeconfig of an API server that does not exist: every command waits for it. */
export function unreachableKubeconfig(): { readonly path: string; readonly remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'no-cluster-'))
  const path = join(folder, 'kubeconfig')
  writeFileSync(path, JSON.stringify(KUBECONFIG))
  return { path, remove: () => rmSync(folder, { recursive: true }) }
}
