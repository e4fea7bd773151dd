import { ACCESS_KEYS, type Resource } from '../../../../src/api/names.ts'
import type { Caps } from '../../../../src/domain/accesskey/lifetime.ts'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { validate } from '../../../../src/gateway/selfservice/validation.ts'
import type { FieldRefusal } from '../../../../src/gateway/selfservice/write-options.ts'
import { MARKS, callers, owner, t0 } from './key-objects.ts'

/** What is judged; keys, without caps, unless it says otherwise. */
export interface Judged {
  readonly by: keyof typeof callers
  readonly resource?: Resource
  /** Absent: it is made. */
  readonly before?: JsonMap
  readonly after: JsonMap
  readonly caps?: Caps
}

const NO_CAPS: Caps = { maxTtlSeconds: null, loginTtlSeconds: 1_728_000 }

/** What self-service says of it at t0. */
export const judge = ({
  by,
  resource = ACCESS_KEYS,
  before,
  after,
  caps,
}: Judged): FieldRefusal | null =>
  validate({
    resource,
    access: callers[by],
    before: before ?? null,
    after,
    caps: caps ?? NO_CAPS,
    nowMs: t0,
  })

/** Owned by the calling key. */
export const MINE = { ownerReferences: [owner('ci')] } as const

/** With the gateway's annotations and these. */
export const noted = (annotations: JsonMap): JsonMap => ({
  annotations: { ...(MARKS['annotations'] as JsonMap), ...annotations },
})

/** With fields that these managers own. */
export const managed = (...managers: readonly string[]): JsonMap => ({
  managedFields: managers.map((manager) => ({
    manager,
    operation: 'Apply',
    fieldsV1: { 'f:spec': {} },
  })),
})
