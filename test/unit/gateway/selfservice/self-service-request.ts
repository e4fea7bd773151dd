// Requests of a key for our kinds, with an API server that answers as a test says, without a network.
import { Readable } from 'node:stream'
import { ACCESS_KEYS, type Resource } from '../../../../src/api/names.ts'
import type { OwnedAccessKeySpec } from '../../../../src/api/ownedaccesskey.gen.ts'
import { userInfoOf } from '../../../../src/authn/caller.ts'
import type { AccessKey } from '../../../../src/domain/accesskey/access-key.ts'
import type { Caps } from '../../../../src/domain/accesskey/lifetime.ts'
import type { Json, JsonMap } from '../../../../src/domain/json/json.ts'
import type { Quota } from '../../../../src/gateway/selfservice/quota.ts'
import {
  type SelfServiceRequest,
  type Verb,
  callerAccessOf,
} from '../../../../src/gateway/selfservice/request.ts'
import { createResponseBuffer } from '../../../../src/gateway/selfservice/response-buffer.ts'
import { validate } from '../../../../src/gateway/selfservice/validation.ts'
import type { FieldRefusal } from '../../../../src/gateway/selfservice/write-options.ts'
import { createMaxInFlight } from '../../../../src/gateway/streams/max-in-flight.ts'
import {
  type Upstream,
  type UpstreamCall,
  UpstreamUnavailable,
} from '../../../../src/kube/proxy/types.ts'
import { t0, viewOf } from '../../../support/key-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { callTo } from '../request-builder.ts'
import { asAbortSignal } from '../../../../src/runtime/concurrency/end-signal.ts'
import { MARKS, callers, owner } from './key-objects.ts'

/** A place in a quota. */
export const PLACE = {
  ok: true,
  stored: () => undefined,
  leave: () => undefined,
  beyond: () => [],
} as const

/** A quota that is never exceeded. */
export const COUNTS: Quota = {
  take: () => PLACE,
  revivalRefusal: () => null,
}

/** A request for keys, and the API server's response. */
export interface Requested {
  readonly verb: Verb
  /** Empty where it names no object. */
  readonly name: string
  /** Absent: keys. */
  readonly resource?: Resource
  readonly isStatus?: boolean
  readonly body?: { readonly type: string; readonly json: Json }
  /** Status code and object of the API server's response. */
  readonly answers: (call: UpstreamCall) => readonly [number, JsonMap]
  readonly find?: (name: string) => AccessKey | undefined
  readonly still?: SelfServiceRequest['still']
  /** Absent: all writes are sent. */
  readonly maySend?: SelfServiceRequest['maySend']
}

/** The request of key ci, of user ada unless its spec says otherwise. */
export function exchangeOf(
  {
    verb,
    name,
    resource = ACCESS_KEYS,
    isStatus = false,
    body,
    answers,
    find,
    still,
    maySend,
  }: Requested,
  spec: OwnedAccessKeySpec = {},
  metadata: JsonMap = {},
): SelfServiceRequest {
  const call = callTo('/', {
    headers: body ? { 'content-type': body.type } : {},
    body: Readable.from(body ? [Buffer.from(JSON.stringify(body.json))] : []),
  })
  const key = viewOf({
    metadata: { name: 'ci', uid: 'uid-ci', ...metadata },
    spec: { user: 'ada', ...spec },
  })
  const identity = userInfoOf(key) ?? { user: 'ada', groups: [] }
  const caller = { key, identity, scope: null, expiresMs: null }
  return {
    info: { resource, verb, name, isStatus },
    query: [],
    call,
    caller,
    access: callerAccessOf(caller),
    findKey: find ?? (() => undefined),
    form: { encoding: 'json', shape: { as: 'object' } },
    include: 'Metadata',
    upstream: upstreamTo(answers),
    limits: createMaxInFlight(() => undefined),
    reservation: createResponseBuffer(64 * 1024 ** 2, () => undefined).holding('ada'),
    clock: manualClock(t0),
    signal: asAbortSignal(call.gone),
    still: still ?? (async () => caller),
    maySend: maySend ?? (() => true),
  }
}

const upstreamTo = (answers: Requested['answers']): Pick<Upstream, 'send'> => ({
  send: async (call) => {
    if (call.maySend?.() === false) throw new UpstreamUnavailable('unprocessed', 'not sent')
    const [status, json] = answers(call)
    return {
      status,
      headers: { 'audit-id': 'told' },
      body: Readable.from([Buffer.from(JSON.stringify(json))]),
    }
  },
})

/** A write to validate; of keys, without caps, unless it says otherwise. */
export interface WriteParts {
  readonly by: keyof typeof callers
  readonly resource?: Resource
  /** Absent: a create. */
  readonly before?: JsonMap
  readonly after: JsonMap
  readonly caps?: Caps
}

const NO_CAPS: Caps = { maxTtlSeconds: null, loginTtlSeconds: 1_728_000 }

/** What validation says about it at t0. */
export const validateWrite = ({
  by,
  resource = ACCESS_KEYS,
  before,
  after,
  caps,
}: WriteParts): FieldRefusal | null =>
  validate({
    resource,
    access: callers[by],
    before: before ?? null,
    after,
    caps: caps ?? NO_CAPS,
    nowMs: t0,
  })

/** An owner reference to the calling key. */
export const MINE = { ownerReferences: [owner('ci')] } as const

/** Metadata with the gateway's annotations and these. */
export const withAnnotations = (annotations: JsonMap): JsonMap => ({
  annotations: { ...(MARKS['annotations'] as JsonMap), ...annotations },
})

/** Metadata with fields of these managers. */
export const managed = (...managers: readonly string[]): JsonMap => ({
  managedFields: managers.map((manager) => ({
    manager,
    operation: 'Apply',
    fieldsV1: { 'f:spec': {} },
  })),
})
