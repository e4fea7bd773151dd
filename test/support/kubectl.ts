import { eventually } from './eventually.ts'

export { mustKubectl } from '../../tools/control-plane/kubectl.ts'

/** Runs kubectl; resolves with what it prints. */
export type Kubectl = (...args: readonly string[]) => Promise<string>

/**
 * Waits until Kubernetes' own controllers have created the default ServiceAccount and the ConfigMap of each
 * namespace: a list of all objects of a new cluster is stable from then on.
 */
export async function awaitNewCluster(kubectl: Kubectl): Promise<void> {
  const count = async (...what: readonly string[]): Promise<number> =>
    (await kubectl('get', ...what, '-o', 'name')).split('\n').filter(Boolean).length
  const named = (name: string) => ['--all-namespaces', `--field-selector=metadata.name=${name}`]
  const isComplete = async (): Promise<true> => {
    const namespaces = await count('namespaces')
    const accounts = await count('serviceaccounts', ...named('default'))
    const configMaps = await count('configmaps', ...named('kube-root-ca.crt'))
    if (namespaces > 3 && accounts === namespaces && configMaps === namespaces) return true
    throw new Error(JSON.stringify({ namespaces, accounts, configMaps }))
  }
  await eventually('each namespace has what controllers create', isComplete, { withinMs: 60_000 })
}
