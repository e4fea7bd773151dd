// The objects to look at in `make run`: the samples, and what a manifest can't know of this machine.
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ACCESS_KEYS, API_VERSION, TOKENS } from '../../src/api/names.ts'
import type { ControlPlane } from '../control-plane/control-plane.ts'
import { mustKubectl } from '../control-plane/kubectl.ts'
import type { RunFolders } from './program.ts'
import { givePassword } from './sign-in.ts'

/** Options of applySamples. */
interface SampleOptions {
  readonly management: ControlPlane
  readonly folders: RunFolders
  /** A marker beside the data, so that it is deleted with them. */
  readonly marker: string
  readonly log: (line: string) => void
}

/** The folder of the samples. */
export const samplesIn = ({ root }: Pick<RunFolders, 'root'>): string =>
  join(root, 'config/samples')

/** The claim of the samples, with its namespace and what its owner binds there. */
export const claimsIn = (folders: Pick<RunFolders, 'root'>): string =>
  join(samplesIn(folders), 'claims.yaml')

/**
 * Applies the samples once per data folder: later changes and deletions stay.
 *
 * @returns whether it is the first start
 * @throws Error when kubectl fails, or nothing acts on them within a minute
 */
export async function applySamples(options: SampleOptions): Promise<boolean> {
  const { management, folders, marker, log } = options
  if (existsSync(marker)) return false
  const kubectl = (...args: readonly string[]) => mustKubectl(management, args)
  log('applying the samples: kubectl apply --server-side -k config/samples')
  await kubectl('apply', '--server-side', '-k', samplesIn(folders))
  await switchAuditOn(options)
  await givePassword(options)
  writeFileSync(marker, '')
  await applyTokens(management)
  log('applying a claim: kubectl apply --server-side -f config/samples/claims.yaml')
  await kubectl('apply', '--server-side', '-f', claimsIn(folders))
  const seen = '--for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}'
  await kubectl('wait', seen, '--timeout=30s', 'oak,dcet,config', '--all')
  await kubectl('wait', '--for=condition=Ready', '--timeout=60s', 'akc/deploy', '-n', 'shop')
  return true
}

/** The paths of the audit log and its data store are absolute, so they can't be in the samples. */
async function switchAuditOn({ management, folders: { home } }: SampleOptions): Promise<void> {
  const dataStoreEndpoint = `sqlite://${join(home, 'audit-events.db')}`
  const spec = { audit: { enabled: true, path: join(home, 'audit'), level: 2, dataStoreEndpoint } }
  const patch = ['patch', 'config', 'platform-manager-config', '--type=merge', '-p']
  await mustKubectl(management, [...patch, JSON.stringify({ spec })])
}

/** The tokens of the tour by name, with their scopes. */
const TOKENS_OF_CI = {
  'ci-direct': {},
  'ci-namespaces': {
    scope: { rules: [{ verbs: ['get', 'list'], resources: [{ resources: ['namespaces'] }] }] },
  },
} as const

/** Tokens under key ci-deploy, which is named by its uid: a manifest can't know that. */
async function applyTokens(management: ControlPlane): Promise<void> {
  const key = ['get', 'oak', 'ci-deploy', '-o', 'jsonpath={.metadata.uid}']
  const uid = await mustKubectl(management, key)
  const owner = { apiVersion: API_VERSION, kind: ACCESS_KEYS.kind, name: 'ci-deploy', uid }
  const items = Object.entries(TOKENS_OF_CI).map(([name, spec]) => ({
    apiVersion: API_VERSION,
    kind: TOKENS.kind,
    metadata: { name, ownerReferences: [{ ...owner, controller: true }] },
    spec,
  }))
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  await mustKubectl(management, ['apply', '--server-side', '-f', '-'], { input })
}
