// Faults that a test makes through the API: the CRDs are deleted or changed, the operator's token is revoked.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeKubeconfig } from '../../tools/control-plane/access.ts'
import { paths } from '../../tools/control-plane/commands.ts'
import { replaceFile } from '../../tools/control-plane/exclusive-file.ts'
import type { TestControlPlane } from '../support/control-plane.ts'
import { eventually } from '../support/eventually.ts'
import { OPERATOR_ACCOUNT } from '../support/installed-control-plane.ts'
import { mustKubectl } from '../support/kubectl.ts'
import { uniqueName } from '../support/object-builder.ts'

const CRDS = join(import.meta.dirname, '../../crds')
const KEYS_CRD = 'crd/ownedaccesskeys.management.platform.sh'

/** Changes the CRDs of a control plane, as an admin can. */
export interface CrdFaults {
  /** Deletes them; resolves when their objects, and so the finalizers, are gone. */
  remove(): Promise<void>
  /** Resolves when they are established. */
  install(): Promise<void>
  /** Adds a field to the schema of keys and removes it: each change closes their watches with EOF. */
  changeSchema(): Promise<void>
}

/** The CRDs of a control plane; every method throws when kubectl fails. */
export function crdFaultsOf(plane: Pick<TestControlPlane, 'kubectl'>): CrdFaults {
  const must = async (...args: readonly string[]): Promise<void> => {
    await mustKubectl(plane, args)
  }
  const patch = (operation: object): Promise<void> =>
    must('patch', KEYS_CRD, '--type=json', '--patch', JSON.stringify([operation]))
  const path = '/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/added'
  return {
    // The API server checks every five seconds whether the objects are gone.
    remove: () => must('delete', '--kustomize', CRDS, '--timeout=60s'),
    install: async () => {
      await must('apply', '--server-side', '--kustomize', CRDS)
      await must('wait', 'crd', '--all', '--for=condition=Established', '--timeout=30s')
    },
    changeSchema: async () => {
      await patch({ op: 'add', path, value: { type: 'string' } })
      await patch({ op: 'remove', path })
    },
  }
}

/** Replaces and revokes the ServiceAccount token in the operator's token file, as kubelet and admins do. */
export interface TokenFaults {
  /** Writes a new token into the file. */
  renew(): Promise<void>
  /** The same; the returned function revokes this token and resolves when the API server refuses it. */
  renewRevocable(): Promise<() => Promise<void>>
  /** Deletes and creates the ServiceAccount; resolves when the token in the file is refused. */
  replaceAccount(): Promise<void>
}

const { namespace, name: account } = OPERATOR_ACCOUNT
const NAMESPACED = ['--namespace', namespace]
/** The API server caches accepted tokens for ten seconds. */
const REFUSED_WITHIN = { withinMs: 30_000 }

/** For the token file that `plane.operatorKubeconfig()` has written. */
export function tokenFaultsOf({
  kubectl,
  raw,
  dataDir,
  url,
  caFile,
}: Pick<TestControlPlane, 'kubectl' | 'raw' | 'dataDir' | 'url' | 'caFile'>): TokenFaults {
  const file = paths.token(dataDir, `${namespace}.${account}`)
  const must = async (...args: readonly string[]): Promise<string> =>
    (await mustKubectl({ kubectl }, [...args, ...NAMESPACED])).trim()
  const renew = async (...bound: readonly string[]): Promise<void> =>
    replaceFile(file, await must('create', 'token', account, '--duration', '1h', ...bound))
  /** A kubeconfig with a copy of the present token. */
  const copied = async (): Promise<string> => {
    const name = uniqueName('token')
    const tokenFile = join(dataDir, name)
    await replaceFile(tokenFile, await readFile(file, 'utf8'))
    const caPem = await readFile(caFile, 'utf8')
    return writeKubeconfig(dataDir, name, { url, caPem }, { tokenFile })
  }
  const untilRefused = async (kubeconfig: string): Promise<void> => {
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
      const kubeconfig = await copied()
      return async () => {
        await must('delete', 'secret', secret)
        await untilRefused(kubeconfig)
      }
    },
    replaceAccount: async () => {
      const kubeconfig = await copied()
      await must('delete', 'serviceaccount', account)
      await must('create', 'serviceaccount', account)
      await untilRefused(kubeconfig)
    },
  }
}
