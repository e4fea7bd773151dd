// Secrets of the target namespace, and kubeconfigs for them.
import type { Secret } from '../../../../src/api/objects.ts'

/** A kubeconfig that the gateway takes; parts of its cluster and user may differ. */
export const kubeconfig = (
  server = 'https://c1.test:6443',
  { user, cluster }: { readonly user?: object; readonly cluster?: object } = {},
): string =>
  JSON.stringify({
    'current-context': 'it',
    clusters: [{ name: 'it', cluster: { server, ...cluster } }],
    contexts: [{ name: 'it', context: { cluster: 'it', user: 'it' } }],
    users: [{ name: 'it', user: { token: 'abc', ...user } }],
  })

/** What a row says about a Secret. */
export interface SecretParts {
  readonly name?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly label?: string | undefined
  /** Texts, which are encoded. */
  readonly data?: Readonly<Record<string, string>>
}

/** The Secret of cluster c1; parts may differ. */
export function targetSecret(parts: SecretParts = {}): Secret {
  const { name = 'c1', uid = `uid-${name}`, resourceVersion = '1' } = parts
  const label = 'label' in parts ? parts.label : 'cluster'
  const data = parts.data ?? { name: 'c1', kubeconfig: kubeconfig() }
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name,
      namespace: 'targets',
      uid,
      resourceVersion,
      creationTimestamp: '2026-11-21T10:00:00Z',
      labels: label === undefined ? {} : { 'management.platform.sh/target': label },
    },
    data: Object.fromEntries(
      Object.entries(data).map(([field, text]) => [field, Buffer.from(text).toString('base64')]),
    ),
  }
}
