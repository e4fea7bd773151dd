import { expect } from 'vitest'
import { eventuallyPasses } from './eventually.ts'

/** Runs kubectl; resolves with what it prints. */
export type Kubectl = (...args: readonly string[]) => Promise<string>

/**
 * Waits until Kubernetes' own controllers have put into each namespace of a new cluster what they put
 * there: before, no one can tell what else has come or gone.
 */
export async function wholeCluster(kubectl: Kubectl): Promise<void> {
  const count = async (...what: readonly string[]): Promise<number> =>
    (await kubectl('get', ...what, '-o', 'name')).split('\n').filter(Boolean).length
  const named = (name: string) => ['--all-namespaces', `--field-selector=metadata.name=${name}`]
  const isWhole = async (): Promise<void> => {
    const namespaces = await count('namespaces')
    expect(namespaces).toBeGreaterThan(3)
    expect(await count('serviceaccounts', ...named('default'))).toBe(namespaces)
    expect(await count('configmaps', ...named('kube-root-ca.crt'))).toBe(namespaces)
  }
  await eventuallyPasses('the cluster is whole', isWhole, { withinMs: 60_000 })
}
