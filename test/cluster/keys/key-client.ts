// Access keys on a control plane, as a test makes, uses and watches them.
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

/** A key as the API server has it; status is empty before the operator has seen it. */
export interface StoredKey extends KubeObject {
  readonly spec: OwnedAccessKeySpec
  readonly status: OwnedAccessKeyStatus
}

/** The keys of a control plane. All but `read` throw when the API server refuses. */
export interface KeyClient extends Omit<ObjectClient<StoredKey>, 'create'> {
  /** Of user ada unless the spec says otherwise, under a name of its own. */
  create(spec?: OwnedAccessKeySpec, metadata?: Partial<ObjectMeta>): Promise<StoredKey>
  /** Records a use as the gateway does. */
  use(key: Named, atMs: number): Promise<StoredKey>
}

/** How long the operator may take for anything, on a busy machine. */
export const SOON = { withinMs: 20_000 }

/** How long an event may take: they go out ten a second, and many tests share the operator. */
export const EVENT_WITHIN = { withinMs: 40_000 }

/** The keys of a control plane. */
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

/** Waits until whatever is made now is younger than that key: creation has whole seconds. */
export async function outlived(key: StoredKey): Promise<void> {
  const isLater = () => Date.now() >= createdMs(key) + 1000 || undefined
  await eventually('the next second begins', isLater, SOON)
}

/** How often ends are made and timed at most: a machine that stops for a second tells none within one. */
const ROUNDS = 3

/**
 * Every end of a round is reported within a second, and none too early in any (contract 2.7). A round gives
 * how many milliseconds after its end each was reported.
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

/** The operator has said of the object what it is. */
export const hasConditions = ({ status }: { status: { conditions?: unknown } }): boolean =>
  status.conditions !== undefined

/**
 * The `ttl` with which a key ends two to three seconds from now. For one that has to be seen before: one that
 * is made for seconds may have ended before a busy machine gets to it.
 */
export const endingSoon = (key: Parameters<typeof createdMs>[0]): { readonly ttl: number } => ({
  ttl: Math.ceil((Date.now() - createdMs(key)) / 1000) + 2,
})

/** The time that many seconds after another, as status writes it. */
export const textAfter = (fromMs: number, seconds: number): string =>
  formatTimestamp(fromMs + seconds * 1000)

/** Metadata of a key that was first seen that many seconds ago, as a restore brings it (2.8). */
export const createdAgo = (seconds: number): { readonly annotations: Record<string, string> } => ({
  annotations: { [CREATED_ANNOTATION]: textAfter(Math.floor(Date.now() / 1000) * 1000, -seconds) },
})

/** A condition of a key; fails where there is none. */
export const condition: (key: StoredKey, type: string) => Condition = conditionIn

/** The operator has adopted the key: finalizer, annotation and key are there. */
export const isAdopted = ({ metadata, spec }: StoredKey): boolean =>
  (metadata.finalizers ?? []).includes(REVOKE_FINALIZER) &&
  CREATED_ANNOTATION in (metadata.annotations ?? {}) &&
  Boolean(spec.key)

/** What the operator wrote to an object since a mark: verb and subresource, code unless it was 200. */
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

/** The field set of the operator's applies; undefined where it has none. */
export const fieldsOfOperator = ({ metadata }: StoredKey) =>
  metadata.managedFields?.find(
    ({ manager, subresource }) => manager === FIELD_MANAGER && !subresource,
  )?.fieldsV1
