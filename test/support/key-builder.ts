import { CREATED_ANNOTATION, FIELD_MANAGER, REVOKE_FINALIZER } from '../../src/api/names.ts'
import type { ManagedFieldsEntry } from '../../src/api/objects.ts'
import { secretDigest } from '../../src/authn/credential-index.ts'
import type { IdentityChange } from '../../src/controllers/ownedaccesskey/identity-change.ts'
import type { KeyPlanInput, KeyStep } from '../../src/controllers/ownedaccesskey/plan.ts'
import {
  type AccessKey,
  type OwnedAccessKeyObject,
  accessKeyOf,
} from '../../src/domain/accesskey/access-key.ts'
import { formatTimestamp } from '../../src/domain/time.ts'
import { type Parts, keyObject } from './object-builder.ts'

/** The moment at which keyObject's keys are created: 2026-11-21T10:00:00Z. */
export const t0 = Date.UTC(2026, 10, 21, 10)

/** A day in milliseconds: the retention of expired keys unless a row says otherwise. */
export const DAY_MS = 86_400_000

/** The moment that many seconds after t0, in epoch milliseconds. */
export const after = (seconds: number): number => t0 + seconds * 1000

/** The time of `after`, as the API server writes it. */
export const textAfter = (seconds: number): string => formatTimestamp(after(seconds))

/** The slim view of a key of user ada, adopted at t0. */
export function viewOf({ metadata, spec, status = {} }: Parts<OwnedAccessKeyObject>): AccessKey {
  const adoption = {
    annotations: { [CREATED_ANNOTATION]: textAfter(0) },
    finalizers: [REVOKE_FINALIZER],
  }
  const object = keyObject({
    metadata: { ...adoption, managedFields: [statusEntry(status)], ...metadata },
    spec: { user: 'ada', key: 'k'.repeat(32), ...spec },
    status,
  })
  return accessKeyOf(object, secretDigest)
}

/** The entry of our status apply that wrote all of this. */
export const statusEntry = (status: object): ManagedFieldsEntry => ({
  manager: FIELD_MANAGER,
  operation: 'Apply',
  subresource: 'status',
  fieldsV1: { 'f:status': fieldsOf(status) },
})

function fieldsOf(value: unknown): object {
  if (Array.isArray(value)) {
    return Object.fromEntries(
      value.map((one: { readonly type: string }) => [
        `k:${JSON.stringify({ type: one.type })}`,
        fieldsOf(one),
      ]),
    )
  }
  if (typeof value !== 'object' || value === null) return {}
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [`f:${name}`, fieldsOf(inner)]),
  )
}

/** A slim view that differs from an adopted, never published key without a lifetime as given. */
export const accessKey = (differing: Partial<AccessKey> = {}): AccessKey => ({
  ...viewOf({}),
  ...differing,
})

/** An older object of that name has the same key, and wins (contract 3.3). */
export const olderThan = (name: string): Pick<KeyPlanInput, 'conflict'> => ({
  conflict: { kind: 'elder', names: [name] },
})

/** No caps, a retention of 24 hours, no conflict, the moment t0; else as given. */
export const circumstances = (differing: Partial<KeyPlanInput> = {}): KeyPlanInput => ({
  caps: { maxTtlSeconds: null, loginTtlSeconds: 1_728_000 },
  configName: 'platform-manager-config',
  retentionMs: DAY_MS,
  conflict: null,
  identityFault: null,
  ownerFault: null,
  isSurplusLogin: false,
  report: null,
  tokensFault: null,
  nowMs: t0,
  ...differing,
})

/** Caps with this maximum lifetime in seconds; null = none. */
export const capped = (maxTtlSeconds: number | null): Pick<KeyPlanInput, 'caps'> => ({
  caps: { maxTtlSeconds, loginTtlSeconds: 1_728_000 },
})

/** The key after the API server has carried a step out; null when it is gone. */
export function stepped(key: AccessKey, step: KeyStep): AccessKey | null {
  switch (step.kind) {
    case 'nothing':
    case 'wait':
      return key
    case 'adopt':
      return afterAdoption(key, step.createdAt)
    case 'record':
      return afterRecord(key, step.change)
    case 'publish':
      return { ...key, published: { ...NOTHING_PUBLISHED, ...step.status } }
    case 'delete':
      return key.finalizers.length > 0 ? { ...key, isDeleting: true } : null
    case 'release': {
      const finalizers = key.finalizers.filter((finalizer) => finalizer !== REVOKE_FINALIZER)
      return finalizers.length > 0 ? { ...key, finalizers } : null
    }
    default:
      return step satisfies never
  }
}

const NOTHING_PUBLISHED = accessKey().published

const afterRecord = (key: AccessKey, change: IdentityChange): AccessKey =>
  change.kind === 'gone'
    ? { ...key, identityGone: change.reason }
    : { ...key, refreshedMs: change.atMs, generation: key.generation + 1 }

function afterAdoption(key: AccessKey, createdAt: string): AccessKey {
  const isGenerated = key.digest === null
  return {
    ...key,
    finalizers: [...new Set([...key.finalizers, REVOKE_FINALIZER])],
    firstSeenMs: Date.parse(createdAt),
    digest: key.digest ?? secretDigest('generated'),
    isKeyOurs: key.isKeyOurs || isGenerated,
    generation: key.generation + (isGenerated ? 1 : 0),
  }
}
