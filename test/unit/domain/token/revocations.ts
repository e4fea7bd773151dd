// Builds ConfigMaps of revoked tokens, and tokens to revoke.
import type { ConfigMap, ObjectMeta } from '../../../../src/api/objects.ts'
import { type Revocations, revokedTokensIn } from '../../../../src/domain/token/revocation.ts'

/** The first ConfigMap of an hour. */
export const HOUR = 'platform-revoked-tokens-2026112110'

/** Epoch milliseconds. */
export const at = (text: string): number => Date.parse(text)

/** As the API server has it. */
export function configMap(
  name: string,
  data?: Readonly<Record<string, string>>,
  rest: { readonly immutable?: boolean; readonly metadata?: Partial<ObjectMeta> } = {},
): ConfigMap {
  const { metadata, ...others } = rest
  const identity = {
    name,
    namespace: 'platform-system',
    uid: `uid-${name}`,
    resourceVersion: '1',
    creationTimestamp: '',
  }
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { ...identity, ...metadata },
    ...(data ? { data } : {}),
    ...others,
  }
}

/** That many different tokens. */
export const jtis = (count: number, prefix = 'jti'): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`)

/** Data that holds them all. */
export const entries = (ids: readonly string[], exp = '2026-11-21T10:30:00Z') =>
  Object.fromEntries(ids.map((jti) => [jti, exp]))

/** All of them, asked for. */
export const asked = (ids: readonly string[], exp = '2026-11-21T10:30:00Z') =>
  new Map(ids.map((jti) => [jti, at(exp)]))

/** The tokens of all ConfigMaps; each is in one of them. */
export const revokedInAll = (configMaps: readonly ConfigMap[]): Revocations =>
  new Map(configMaps.flatMap((one) => [...revokedTokensIn(one)]))
