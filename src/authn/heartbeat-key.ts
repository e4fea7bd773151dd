// The key that gateways write to, and that each sees on its own watch (contract 10.4).
import {
  ACCESS_KEYS,
  API_VERSION,
  EXPIRED_ANNOTATION,
  HEARTBEAT_ANNOTATION,
  HEARTBEAT_BEFORE_ANNOTATION,
  HEARTBEAT_KEY,
} from '../api/names.ts'
import type { KubeObject } from '../api/objects.ts'
import type { OwnedAccessKeyObject } from '../domain/accesskey/access-key.ts'
import type { NewObject, PatchOperation } from '../kube/client/client.ts'

/** A key of this type opens nothing, whatever else changes in the object. */
const SPEC = { type: 'Reset', subject: 'heartbeat' } as const

/** The heartbeat key, written at that time. The annotation makes operators of earlier versions keep it. */
export const heartbeatKey = (at: string): NewObject => ({
  apiVersion: API_VERSION,
  kind: ACCESS_KEYS.kind,
  metadata: {
    name: HEARTBEAT_KEY,
    annotations: { [HEARTBEAT_ANNOTATION]: at, [EXPIRED_ANNOTATION]: 'Keep' },
  },
  spec: {
    ...SPEC,
    description:
      'Opens nothing: gateways write to it to test that their watch of the keys is current.',
  },
})

/**
 * Whether the object differs from what gateways create now: an earlier version created it, or a user changed
 * it. It is then replaced, because the type is immutable. An object with a key may be in use and stays; so
 * does one that is being deleted.
 */
export function isOfAnotherForm({ metadata, spec = {} }: OwnedAccessKeyObject): boolean {
  if (metadata.deletionTimestamp !== undefined || spec.key) return false
  const { type, subject, disabled, ttl } = spec
  return type !== SPEC.type || subject !== SPEC.subject || disabled === true || (ttl ?? 0) > 0
}

/** A write at that time, on condition of the version read: of concurrent writers only one succeeds. */
export function beatOn({ metadata }: KubeObject, at: string): readonly PatchOperation[] {
  const { resourceVersion, annotations } = metadata
  const annotated = {
    [HEARTBEAT_ANNOTATION]: at,
    [HEARTBEAT_BEFORE_ANNOTATION]: annotations?.[HEARTBEAT_ANNOTATION] ?? '',
    [EXPIRED_ANNOTATION]: 'Keep',
  }
  return [
    { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
    ...(annotations ? [] : [{ op: 'add', path: '/metadata/annotations', value: {} } as const]),
    ...Object.entries(annotated).map(
      ([name, value]) =>
        ({ op: 'add', path: `/metadata/annotations/${name.replace('/', '~1')}`, value }) as const,
    ),
  ]
}
