// Requests of a key to our kinds, and the API server that they come to, without a network.
import { Readable } from 'node:stream'
import { ACCESS_KEYS, type Resource } from '../../../../src/api/names.ts'
import type { OwnedAccessKeySpec } from '../../../../src/api/ownedaccesskey.gen.ts'
import { userInfoOf } from '../../../../src/authn/caller.ts'
import type { AccessKey } from '../../../../src/domain/accesskey/access-key.ts'
import type { Json, JsonMap } from '../../../../src/domain/json/json.ts'
import type { Quota } from '../../../../src/gateway/selfservice/quota.ts'
import {
  type SelfServiceRequest,
  type Verb,
  callerAccessOf,
} from '../../../../src/gateway/selfservice/request.ts'
import { createResponseBuffer } from '../../../../src/gateway/selfservice/response-buffer.ts'
import { createMaxInFlight } from '../../../../src/gateway/stages/max-in-flight.ts'
import type { Upstream, UpstreamCall } from '../../../../src/kube/proxy/types.ts'
import { t0, viewOf } from '../../../support/key-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { callTo } from '../calls.ts'

/** Counts nothing: there is a place for everything. */
export const COUNTS: Quota = {
  take: () => ({
    ok: true,
    stored: () => undefined,
    leave: () => undefined,
    beyond: () => [],
  }),
  revivalRefusal: () => null,
}

/** A request about keys, and who answers it. */
export interface Requested {
  readonly verb: Verb
  /** Empty where it names no object. */
  readonly name: string
  /** Absent: keys. */
  readonly resource?: Resource
  readonly isStatus?: boolean
  readonly body?: { readonly type: string; readonly json: Json }
  /** The code and object that the API server answers with. */
  readonly answers: (call: UpstreamCall) => readonly [number, JsonMap]
  readonly find?: (name: string) => AccessKey | undefined
  readonly still?: SelfServiceRequest['still']
}

/** The exchange of a key named ci, of user ada unless its spec says otherwise. */
export function exchangeOf(
  { verb, name, resource = ACCESS_KEYS, isStatus = false, body, answers, find, still }: Requested,
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
    signal: call.gone,
    still: still ?? (async () => caller),
  }
}

const upstreamTo = (answers: Requested['answers']): Upstream => ({
  send: async (call) => {
    const [status, json] = answers(call)
    return {
      status,
      headers: { 'audit-id': 'told' },
      body: Readable.from([Buffer.from(JSON.stringify(json))]),
    }
  },
  close: async () => undefined,
})
