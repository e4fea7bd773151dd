// The audit log of the direct endpoint of `make run`, whose events go to the gateway with a key of their own.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Access } from '../control-plane/access.ts'
import { replaceFile } from '../control-plane/exclusive-file.ts'
import { mustKubectl } from '../control-plane/kubectl.ts'
import { CLUSTER } from './connected-cluster.ts'
import type { RunFolders } from './program.ts'

/** The platform that gets the events. */
interface Central {
  readonly management: Access
  /** The URL of its gateway, whatever its path. */
  readonly url: string
  /** Path of the CA of the gateway's certificate. */
  readonly caFile: string
}

/** Of the key and its user: there is one cluster here. */
const NAME = 'audit-agent'

/**
 * Applies the shipped right and key of the cluster's agent, and writes the key into a file.
 *
 * @returns the flags of the direct endpoint
 * @throws Error when a manifest is refused, or the key is not generated within 30 s
 */
export async function auditFlags(
  { management, url, caFile }: Central,
  { root, home }: Pick<RunFolders, 'root' | 'home'>,
): Promise<readonly string[]> {
  const shipped = readFileSync(join(root, 'docs/examples/audit-agent.yaml'), 'utf8')
  const input = shipped.replaceAll('audit-agent-east', NAME).replaceAll('east', CLUSTER)
  await mustKubectl(management, ['apply', '--server-side', '-f', '-'], { input })
  const key = `oak/${NAME}`
  const generated = '--for=jsonpath={.spec.key}'
  await mustKubectl(management, ['wait', generated, '--timeout=30s', key])
  const keyFile = join(home, 'direct-central.key')
  const secret = await mustKubectl(management, ['get', key, '-o', 'jsonpath={.spec.key}'])
  await replaceFile(keyFile, secret)
  return [
    `--audit-path=${join(home, 'direct-audit')}`,
    `--central-url=${new URL(url).origin}`,
    `--central-ca-file=${caFile}`,
    `--access-key-file=${keyFile}`,
  ]
}
