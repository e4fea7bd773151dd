// An API server that stores whatever it is sent: RBAC and policies allow every caller everything.
import type { OwnedAccessKeySpec } from '../../../../src/api/ownedaccesskey.gen.ts'
import { nestedMap, nestedString } from '../../../../src/domain/json/field-path.ts'
import { type Json, type JsonMap, parseJsonMap } from '../../../../src/domain/json/json.ts'
import { create } from '../../../../src/gateway/selfservice/create.ts'
import { update } from '../../../../src/gateway/selfservice/update.ts'
import type { UpstreamCall } from '../../../../src/kube/proxy/types.ts'
import { systemClock } from '../../../../src/runtime/clock.ts'
import { COUNTS, exchangeOf } from './self-service-request.ts'

/** The state before each write: no caps, and one new key. */
export const DEPS = {
  caps: () => ({ maxTtlSeconds: null, loginTtlSeconds: null }),
  newKey: () => 'k'.repeat(32),
  counts: COUNTS,
  clock: systemClock(),
}

/** The result of a write. */
export interface Written {
  readonly code: number
  /** The field named in the gateway's refusal; else empty. */
  readonly field: string
  /** The user that stored it, `gateway` for the gateway's account; null = not stored. */
  readonly by: string | null
  /** The object that was sent; empty when none was. */
  readonly stored: JsonMap
}

const CREATED = '2026-11-21T10:00:00Z'

function recorder() {
  let by: string | null = null
  let stored: JsonMap = {}
  const note = ({ impersonation, body }: UpstreamCall): void => {
    by = impersonation?.['impersonate-user'] ?? 'gateway'
    stored = parseJsonMap((body as Buffer).toString()) ?? {}
  }
  const written = (code: number, body: Buffer): Written => {
    const message = nestedString(parseJsonMap(body.toString()) ?? {}, ['message'])
    return { code, field: code === 403 ? (message.split(': ')[0] ?? '') : '', by, stored }
  }
  return { note, written }
}

const isTry = ({ path }: UpstreamCall): boolean => path.includes('dryRun=All')
const isClaim = ({ path }: UpstreamCall): boolean =>
  path.includes('fieldManager=management-operator-gateway')

/** Creates a key of this spec with a key of that spec. */
export async function made(
  caller: OwnedAccessKeySpec,
  spec: JsonMap,
  metadata: JsonMap = {},
): Promise<Written> {
  const { note, written } = recorder()
  const answers = (call: UpstreamCall): readonly [number, JsonMap] => {
    const sent = parseJsonMap((call.body as Buffer).toString()) ?? {}
    if (isClaim(call)) return [200, sent]
    if (!isTry(call)) note(call)
    const named = { ...nestedMap(sent, ['metadata']), creationTimestamp: CREATED }
    return [201, { ...sent, metadata: named }]
  }
  const json = { kind: 'OwnedAccessKey', metadata, spec }
  const body = { type: 'application/json', json }
  const request = exchangeOf({ verb: 'create', name: '', body, answers }, caller)
  const answer = await create(request, DEPS)
  return written(answer.status, answer.body as Buffer)
}

/** The ways to change an object. */
export type Way = 'put' | 'merge' | 'apply' | 'json'

const TYPES: Readonly<Record<Way, string>> = {
  put: 'application/json',
  merge: 'application/merge-patch+json',
  apply: 'application/apply-patch+yaml',
  json: 'application/json-patch+json',
}

/** Changes the stored key with another key; the API server merges what it is sent. */
export async function changed(
  caller: OwnedAccessKeySpec,
  before: JsonMap,
  way: Way,
  sent: Json,
): Promise<Written> {
  const { note, written } = recorder()
  const answers = (call: UpstreamCall): readonly [number, JsonMap] => {
    if (call.method === 'GET') return [200, before]
    if (call.path.includes('selfsubjectaccessreviews')) return [201, { status: { allowed: true } }]
    if (!isTry(call)) note(call)
    return [200, way === 'json' ? before : mergedWith(before, call)]
  }
  const verb = way === 'put' ? 'update' : 'patch'
  const name = nestedString(before, ['metadata', 'name'])
  const body = { type: TYPES[way], json: sent }
  const answer = await update(exchangeOf({ verb, name, body, answers }, caller), DEPS)
  return written(answer.status, answer.body as Buffer)
}

function mergedWith(before: JsonMap, { method, body }: UpstreamCall): JsonMap {
  const sent = parseJsonMap((body as Buffer).toString()) ?? {}
  const parts = ['metadata', 'spec'].map((part) => [
    part,
    method === 'PUT' && part === 'spec'
      ? nestedMap(sent, [part])
      : { ...nestedMap(before, [part]), ...nestedMap(sent, [part]) },
  ])
  return { ...before, ...Object.fromEntries(parts) } as JsonMap
}
