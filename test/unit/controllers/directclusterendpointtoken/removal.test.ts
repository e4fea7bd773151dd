import { describe, expect, test } from 'vitest'
import type { DirectClusterEndpointToken } from '../../../../src/api/directclusterendpointtoken.gen.ts'
import { EXPIRED_ANNOTATION } from '../../../../src/api/names.ts'
import type { ObjectMeta } from '../../../../src/api/objects.ts'
import { deletionMsOf } from '../../../../src/controllers/directclusterendpointtoken/retention.ts'
import type { TokenPlanInput } from '../../../../src/controllers/directclusterendpointtoken/facts.ts'
import { plan } from '../../../../src/controllers/directclusterendpointtoken/plan.ts'
import { tokenOf } from '../../../../src/domain/token/token.ts'
import { after, capped, textAfter } from '../../../support/key-builder.ts'
import {
  UNDER_CI,
  issuedObject,
  owner,
  tokenAfter,
  tokenCircumstances,
  tokenObject,
} from '../../../support/token-builder.ts'

const DAY = 86_400
const HOUR = 3600

type PartialCircumstances = Partial<TokenPlanInput>
type Marks = Pick<ObjectMeta, 'annotations' | 'labels' | 'managedFields'>

/** The object after publishing in these circumstances, with its record stored. */
function published(
  object: DirectClusterEndpointToken,
  seconds: number,
  circumstances: PartialCircumstances,
) {
  const when = tokenCircumstances({ isRecorded: true, ...circumstances, nowMs: after(seconds) })
  const step = plan(tokenOf(object), when)
  if (step.kind !== 'publish') throw new Error(`the step is to ${step.kind}`)
  return tokenAfter(object, step) ?? object
}

/** Ways in which a token of ten minutes ends. */
const ENDS = {
  'by its exp': (metadata: Marks) =>
    published(issuedObject({ metadata, spec: { ttl: 600 } }), 600, {}),
  'by its exp, seen late': (metadata: Marks) =>
    published(issuedObject({ metadata, spec: { ttl: 600 } }), 9 * HOUR, {}),
  revoked: (metadata: Marks) =>
    published(
      issuedObject(
        { metadata: { ...UNDER_CI, ...metadata }, spec: { ttl: 600 } },
        { owner: owner() },
      ),
      60,
      { owner: owner({}, { state: 'Disabled' }) },
    ),
  'by the cap at issue': (metadata: Marks) =>
    published(issuedObject({ metadata, spec: { ttl: 600 } }, capped(60)), 60, capped(60)),
  'by a cap lowered later': (metadata: Marks) => {
    const object = issuedObject({ metadata, spec: { ttl: 600 } })
    return published(published(object, 30, { isRecorded: false, ...capped(60) }), 60, capped(60))
  },
  'by a cap lowered below its age': (metadata: Marks) =>
    published(issuedObject({ metadata, spec: { ttl: 600 } }), 300, capped(60)),
  'with its owner, which a lowered cap ended': (metadata: Marks) =>
    published(
      issuedObject(
        { metadata: { ...UNDER_CI, ...metadata }, spec: { ttl: 600 } },
        { owner: owner() },
      ),
      300,
      { owner: owner({}, { state: 'Expired' }), ...capped(60) },
    ),
} as const

const DELETE = { annotations: { [EXPIRED_ANNOTATION]: 'Delete' } }
const KEEP = { annotations: { [EXPIRED_ANNOTATION]: 'Keep' } }
const TRACKED = { labels: { 'app.kubernetes.io/managed-by': 'Helm' } }

interface Row {
  readonly name: string
  readonly marks: Marks
  /** Seconds after the token's creation; null = kept. */
  readonly removed: Readonly<Record<keyof typeof ENDS, number | null>>
}

const always = (removed: null): Row['removed'] => ({
  'by its exp': removed,
  'by its exp, seen late': removed,
  revoked: removed,
  'by the cap at issue': removed,
  'by a cap lowered later': removed,
  'by a cap lowered below its age': removed,
  'with its owner, which a lowered cap ended': removed,
})

const AFTER_RETENTION: Row['removed'] = {
  'by its exp': 600 + DAY,
  'by its exp, seen late': 600 + DAY,
  revoked: 60 + DAY,
  'by the cap at issue': 60 + DAY,
  'by a cap lowered later': 60 + DAY,
  'by a cap lowered below its age': 300 + DAY,
  'with its owner, which a lowered cap ended': 300 + DAY,
}

const AT_ONCE: Row['removed'] = {
  ...AFTER_RETENTION,
  'by its exp': 600,
  'by its exp, seen late': 9 * HOUR,
  revoked: 60,
}

const ROWS: readonly Row[] = [
  { name: 'no annotation', marks: {}, removed: AFTER_RETENTION },
  {
    name: 'an unknown value of the annotation',
    marks: { annotations: { [EXPIRED_ANNOTATION]: 'delete' } },
    removed: AFTER_RETENTION,
  },
  { name: 'Keep', marks: KEEP, removed: always(null) },
  { name: 'Keep, tracked', marks: { ...KEEP, ...TRACKED }, removed: always(null) },
  { name: 'tracked', marks: TRACKED, removed: always(null) },
  { name: 'Delete, where the cap still allows the retention', marks: DELETE, removed: AT_ONCE },
  { name: 'Delete, tracked', marks: { ...DELETE, ...TRACKED }, removed: AT_ONCE },
]

describe.each(Object.entries(ENDS))('removal of a token ended %s (5.2)', (how, end) => {
  test.each(ROWS)('$name', ({ marks, removed }) => {
    const endsAt = removed[how as keyof typeof ENDS]
    const token = tokenOf(end(marks))
    const { conditions } = token.published
    const limits = { retentionMs: DAY * 1000, maxTtlMs: DAY * 1000 }
    expect(deletionMsOf(token, conditions, limits)).toBe(endsAt === null ? null : after(endsAt))
  })

  test('a retention of 0: at once', () => {
    const token = tokenOf(end({}))
    const limits = { retentionMs: 0, maxTtlMs: DAY * 1000 }
    const removedMs = deletionMsOf(token, token.published.conditions, limits)
    expect(removedMs).toBe(after((AFTER_RETENTION[how as keyof typeof ENDS] ?? 0) - DAY))
  })
})

describe('removal of a token that expired before it was issued (5.2)', () => {
  /** Published as waiting at its creation and as expired hours later; Ready was False all the time. */
  const late = (
    spec: DirectClusterEndpointToken['spec'],
    seconds: number,
    circumstances: PartialCircumstances = {},
  ) => {
    const waiting = published(tokenObject({ spec: { ...spec } }), 0, {
      isRecorded: false,
      issuer: null,
    })
    return published(waiting, seconds, { isRecorded: false, issuer: null, ...circumstances })
  }
  // biome-ignore format: a table
  test.each([
    { name: 'the retention counts from its end', object: late({ ttl: 2 * HOUR }, 2 * HOUR), limit: DAY, removed: 2 * HOUR + DAY },
    { name: 'not from when the end was published', object: late({ ttl: 2 * HOUR }, 9 * HOUR), limit: DAY, removed: 2 * HOUR + DAY },
    { name: 'with the default lifetime', object: late({}, DAY), limit: DAY, removed: 2 * DAY },
    { name: 'ended by --token-max-ttl', object: late({ ttl: 90 * DAY }, HOUR, { maxTtlMs: HOUR * 1000 }), limit: HOUR, removed: HOUR + DAY },
    { name: 'ended by a cap: the retention counts from the end without the cap', object: late({ ttl: 2 * HOUR }, HOUR, capped(60)), limit: DAY, removed: 2 * HOUR + DAY },
  ])('$name', ({ object, limit, removed }) => {
    const token = tokenOf(object)
    expect(token.published.conditions[0]?.lastTransitionTime).toBe(textAfter(0))
    const limits = { retentionMs: DAY * 1000, maxTtlMs: limit * 1000 }
    expect(deletionMsOf(token, token.published.conditions, limits)).toBe(after(removed))
  })
})
