import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeKubeconfig } from '../../tools/control-plane/access.ts'
import { paths } from '../../tools/control-plane/commands.ts'
import { replaceFile } from '../../tools/control-plane/exclusive-file.ts'
import type { TestControlPlane } from '../support/control-plane.ts'
import { eventually } from '../support/eventually.ts'
import { OPERATOR_ACCOUNT } from '../support/installed-control-plane.ts'
import { mustKubectl } from '../support/must-kubectl.ts'
import { uniqueName } from '../support/object-builder.ts'

/** The file with the operator's token, as a kubelet would keep it. */
export interface TokenFixture {
  /** Puts a fresh token there. */
  renew(): Promise<void>
  /** The same, and the function that ends this token early; it resolves once the API server refuses. */
  renewRevocable(): Promise<() => Promise<void>>
  /** Makes the ServiceAccount again, and waits until the token in the file is refused. */
  replaceAccount(): Promise<void>
}

const { namespace, name: account } = OPERATOR_ACCOUNT
const NAMESPACED = ['--namespace', namespace]
/** The API server remembers for ten seconds that a token was good. */
const REFUSED_WITHIN = { withinMs: 30_000 }

/** The token file that `plane.operatorKubeconfig()` has written. */
export function tokenFixtureOf({
  kubectl,
  raw,
  dataDir,
  url,
  caFile,
}: Pick<TestControlPlane, 'kubectl' | 'raw' | 'dataDir' | 'url' | 'caFile'>): TokenFixture {
  const file = paths.token(dataDir, `${namespace}.${account}`)
  const must = async (...args: readonly string[]): Promise<string> =>
    (await mustKubectl({ kubectl }, [...args, ...NAMESPACED])).trim()
  const renew = async (...bound: readonly string[]): Promise<void> =>
    replaceFile(file, await must('create', 'token', account, '--duration', '1h', ...bound))
  /** A kubeconfig that keeps the token that is in the file now. */
  const kept = async (): Promise<string> => {
    const name = uniqueName('token')
    const tokenFile = join(dataDir, name)
    await replaceFile(tokenFile, await readFile(file, 'utf8'))
    const caPem = await readFile(caFile, 'utf8')
    return writeKubeconfig(dataDir, name, { url, caPem }, { tokenFile })
  }
  const refused = async (kubeconfig: string): Promise<void> => {
    const isRefused = async () =>
      (await raw('GET', '/api', undefined, { kubeconfig })).code === 401 || undefined
    await eventually('the token is refused', isRefused, REFUSED_WITHIN)
  }
  return {
    renew: () => renew(),
    renewRevocable: async () => {
      const secret = uniqueName('binds-a-token')
      await must('create', 'secret', 'generic', secret)
      await renew('--bound-object-kind', 'Secret', '--bound-object-name', secret)
      const kubeconfig = await kept()
      return async () => {
        await must('delete', 'secret', secret)
        await refused(kubeconfig)
      }
    },
    replaceAccount: async () => {
      const kubeconfig = await kept()
      await must('delete', 'serviceaccount', account)
      await must('create', 'serviceaccount', account)
      await refused(kubeconfig)
    },
  }
}
