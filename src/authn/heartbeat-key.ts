// The key that gateways write to, and that each sees on its own watch (contract 10.4): its form and its writes.
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
import { isConflict } from '../kube/client/api-error.ts'
import type { KubeClient, NewObject, PatchOperation } from '../kube/client/client.ts'
import type { Log } from '../runtime/log.ts'

/** Label of the writes to the heartbeat key, for rest_client metrics. */
export const HEARTBEAT_REASON = 'heartbeat'

const REF = { name: HEARTBEAT_KEY }

/** A key of this type authenticates no one, whatever else changes in the object. */
const SPEC = { type: 'Reset', subject: 'heartbeat' } as const

/** Dependencies of a write to the heartbeat key. */
interface HeartbeatWrite {
  readonly client: KubeClient
  readonly log: Log
  /** Called with the stored annotation, undefined = none: false where another gateway has just written it. */
  readonly mayWrite: (annotation: string | undefined) => boolean
}

/**
 * Writes the time into the heartbeat key; creates it where it is missing, and replaces one of another form.
 *
 * @returns false where `mayWrite` refused
 * @throws StatusError when another gateway wrote at the same time, or the API server refuses
 */
export async function writeHeartbeat(
  { client, log, mayWrite }: HeartbeatWrite,
  at: string,
  signal: AbortSignal,
): Promise<boolean> {
  const found = await client.get<OwnedAccessKeyObject>(ACCESS_KEYS, REF, signal)
  if (!mayWrite(found?.metadata.annotations?.[HEARTBEAT_ANNOTATION])) return false
  const kept = found && hasOtherForm(found) ? await deleteOtherForm(found, client, log) : found
  if (!kept) await client.create(ACCESS_KEYS, heartbeatKey(at), HEARTBEAT_REASON)
  else await client.patch(ACCESS_KEYS, REF, heartbeatPatch(kept, at), HEARTBEAT_REASON)
  return true
}

/**
 * Gateways of an earlier version write to either form, and create theirs only where the key is missing. So both
 * versions can run side by side, and an object of the earlier form is replaced at the next write.
 *
 * @returns null when it is gone; the object where a finalizer holds it or the delete is refused
 */
async function deleteOtherForm(
  object: OwnedAccessKeyObject,
  client: KubeClient,
  log: Log,
): Promise<KubeObject | null> {
  const { uid, resourceVersion } = object.metadata
  try {
    return await client.delete(ACCESS_KEYS, REF, { uid, resourceVersion }, HEARTBEAT_REASON)
  } catch (err) {
    if (isConflict(err)) throw err
    log.warn({ err }, 'could not replace the heartbeat key')
    return object
  }
}

/** The heartbeat key, written at that time. The annotation makes operators of earlier versions keep it. */
const heartbeatKey = (at: string): NewObject => ({
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
function hasOtherForm({ metadata, spec = {} }: OwnedAccessKeyObject): boolean {
  if (metadata.deletionTimestamp !== undefined || spec.key) return false
  const { type, subject, disabled, ttl } = spec
  return type !== SPEC.type || subject !== SPEC.subject || disabled === true || (ttl ?? 0) > 0
}

/** A write at that time, on condition of the version read: of concurrent writers only one succeeds. */
function heartbeatPatch({ metadata }: KubeObject, at: string): readonly PatchOperation[] {
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
