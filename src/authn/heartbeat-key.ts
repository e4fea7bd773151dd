// The heartbeat of the access keys (contract 10.4): a key that authenticates no one.
import { ACCESS_KEYS, API_VERSION, EXPIRED_ANNOTATION, HEARTBEAT_NAME } from '../api/names.ts'
import type { OwnedAccessKeyObject } from '../domain/accesskey/access-key.ts'
import type { HeartbeatObject } from './watch-heartbeat.ts'

/** A key of type Reset authenticates no one, whatever else changes in the object. */
const SPEC = { type: 'Reset', subject: 'heartbeat' } as const

/** The heartbeat key. Annotation `expired` makes operators of earlier versions keep it. */
export const KEY_HEARTBEAT: HeartbeatObject<OwnedAccessKeyObject> = {
  resource: ACCESS_KEYS,
  name: HEARTBEAT_NAME,
  annotations: { [EXPIRED_ANNOTATION]: 'Keep' },
  newObject: (annotations) => ({
    apiVersion: API_VERSION,
    kind: ACCESS_KEYS.kind,
    metadata: { name: HEARTBEAT_NAME, annotations },
    spec: {
      ...SPEC,
      description:
        'Opens nothing: gateways write to it to test that their watch of the keys is current.',
    },
  }),
  mustBeReplaced,
}

/**
 * Whether the object must be replaced: its spec differs from SPEC, because an earlier version created it or a user
 * changed it, and the type is immutable. A key with a secret may be in use, so it stays; so does one being deleted.
 */
function mustBeReplaced({ metadata, spec = {} }: OwnedAccessKeyObject): boolean {
  if (metadata.deletionTimestamp !== undefined || spec.key) return false
  const { type, subject, disabled, ttl } = spec
  return type !== SPEC.type || subject !== SPEC.subject || disabled === true || (ttl ?? 0) > 0
}
