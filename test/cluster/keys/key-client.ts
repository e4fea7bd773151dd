// A client for access keys on a control plane, and checks of them.
import { expect } from 'vitest'
import {
  ACCESS_KEYS,
  CREATED_ANNOTATION,
  FIELD_MANAGER,
  REVOKE_FINALIZER,
} from '../../../src/api/names.ts'
import type { Condition, KubeObject, ObjectMeta } from '../../../src/api/objects.ts'
import type {
  OwnedAccessKeySpec,
  OwnedAccessKeyStatus,
} from '../../../src/api/ownedaccesskey.gen.ts'
import { formatTimestamp } from '../../../src/domain/time.ts'
import type { Audit, Mark } from '../../support/audit-log.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { OPERATOR_USER } from '../../support/installed-control-plane.ts'
import { newKey } from '../../support/object-builder.ts'
import {
  type Named,
  type ObjectClient,
  conditionIn,
  objectClientOf,
} from '../../support/object-client.ts'

/** A stored key; status is empty until the operator writes it. */
export interface StoredKey extends KubeObject {
  readonly spec: OwnedAccessKeySpec
  readonly status: OwnedAccessKeyStatus
}

/** All methods but `read` throw when the API server refuses. */
export interface KeyClient extends Omit<ObjectClient<StoredKey>, 'create'> {
  /** Creates a key under a unique name, of user ada unless `spec` has an identity. */
  create(spec?: OwnedAccessKeySpec, metadata?: Partial<ObjectMeta>): Promise<StoredKey>
  /** Writes lastActivity as the gateway does. */
  use(key: Named, atMs: number): Promise<StoredKey>
}

/** The longest time for a reaction of the operator on a busy machine. */
export const SOON = { withinMs: 20_000 }

/** The longest time for an event: ten a second are sent, and many tests share the operator. */
export const EVENT_WITHIN = { withinMs: 40_000 }

/** The client for the keys of a control plane. */
export function keyClientOf(plane: Pick<TestControlPlane, 'raw'>): KeyClient {
  const stored = objectClientOf<StoredKey>(plane, ACCESS_KEYS)
  return {
    ...stored,
    create: (spec, metadata) => stored.create(newKey(spec, metadata)),
    use: (key, atMs) =>
      stored.patch(key, { status: { lastActivity: formatTimestamp(atMs) } }, 'status'),
  }
}

/** When the object was created, in epoch milliseconds. */
export const createdMs = ({ metadata }: Pick<StoredKey, 'metadata'>): number =>
  Date.parse(metadata.creationTimestamp)

/** Waits until a new object gets a later creationTimestamp, which has whole seconds. */
export async function outlived(key: StoredKey): Promise<void> {
  const isLater = () => Date.now() >= createdMs(key) + 1000 || undefined
  await eventually('the next second begins', isLater, SOON)
}

/** The most attempts: a busy machine may stop for a second. */
const ROUNDS = 3

/**
 * Expects that each expiry is reported within a second, and never too early (contract 2.7).
 *
 * @param round lets keys expire; returns the milliseconds from each expiry to its report
 */
export async function expectEventInTime(round: () => Promise<readonly number[]>): Promise<void> {
  for (let rounds = 1; ; rounds += 1) {
    const lags = await round()
    expect(Math.min(...lags)).toBeGreaterThanOrEqual(0)
    if (rounds < ROUNDS && Math.max(...lags) > 1000) continue
    expect(Math.max(...lags)).toBeLessThanOrEqual(1000)
    return
  }
}

/** The operator has written the conditions. */
export const hasConditions = ({ status }: { status: { conditions?: unknown } }): boolean =>
  status.conditions !== undefined

/** The `ttl` with which an existing key expires in two to three seconds: a new one might expire before its adoption. */
export const endingSoon = (key: Parameters<typeof createdMs>[0]): { readonly ttl: number } => ({
  ttl: Math.ceil((Date.now() - createdMs(key)) / 1000) + 2,
})

/** A time `seconds` after another, in the format of status. */
export const textAfter = (fromMs: number, seconds: number): string =>
  formatTimestamp(fromMs + seconds * 1000)

/** The same in whole seconds: the end of a key in status (contract 1.6). */
export const secondAfter = (fromMs: number, seconds: number): string =>
  textAfter(Math.floor(fromMs / 1000) * 1000, seconds)

/** Metadata of a restored key that was created that many seconds ago (contract 2.8). */
export const createdAgo = (seconds: number): { readonly annotations: Record<string, string> } => ({
  annotations: { [CREATED_ANNOTATION]: textAfter(Math.floor(Date.now() / 1000) * 1000, -seconds) },
})

/** A condition of a key. @throws Error when it is absent */
export const condition: (key: StoredKey, type: string) => Condition = conditionIn

/** The operator has adopted the key: it has finalizer, annotation and spec.key. */
export const isAdopted = ({ metadata, spec }: StoredKey): boolean =>
  (metadata.finalizers ?? []).includes(REVOKE_FINALIZER) &&
  CREATED_ANNOTATION in (metadata.annotations ?? {}) &&
  Boolean(spec.key)

/** The operator's writes to an object since a mark: verb, subresource, and the code if it is not 200. */
export async function writesTo(
  { metadata: { name } }: StoredKey,
  audit: Audit,
  mark: Mark,
): Promise<readonly string[]> {
  const writes = await audit.writesSince(mark, { user: OPERATOR_USER })
  return writes
    .filter((write) => write.resource === ACCESS_KEYS.plural && write.name === name)
    .map(({ verb, subresource, code }) =>
      `${verb} ${subresource} ${code === 200 ? '' : code}`.trim(),
    )
}

/** The field set of the operator's applies; undefined = none. */
export const fieldsOfOperator = ({ metadata }: StoredKey) =>
  metadata.managedFields?.find(
    ({ manager, subresource }) => manager === FIELD_MANAGER && !subresource,
  )?.fieldsV1
