// Writes that admission policies reserve: spec.key in clear in the annotation of kubectl apply, spec.key and the
// label of stored objects, and the removal of the operator's finalizer.
import { REVOKE_FINALIZER } from '../../../src/api/names.ts'
import { plantCanary } from '../../support/canary.ts'
import { LAST_APPLIED } from '../../support/installed-control-plane.ts'
import { WRITES, onPlatformKinds } from './rbac-users.ts'
import type { Manifest, Row } from './write-methods.ts'

/** A key in clear, which no annotation may contain. */
export const KEY = plantCanary('annotated').secret

/** A digest, which an annotation may contain. */
export const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`

/** The grants of each caller. */
export const LAST_APPLIED_CALLERS = {
  writer: [WRITES],
  generator: [WRITES, onPlatformKinds(['generate'], ['ownedaccesskeys'])],
} as const

/** The message of the refusal. */
export const ADVICE =
  'metadata.annotations: kubectl.kubernetes.io/last-applied-configuration would hold spec.key in clear; leave spec.key out, or remove the annotation and use kubectl apply --server-side; or write its digest, sha256:<hex>, which management-operator keygen prints, if you may impersonate those whom the key names'

const REFUSED_BY_ADVICE = { code: 422, says: ADVICE } as const

const applied = (spec: object, key?: string) => ({
  metadata: { annotations: { [LAST_APPLIED]: JSON.stringify({ spec }) } },
  spec: key === undefined ? {} : { key },
})

const HOLDS_KEY = { key: KEY }
const LONGER = `${KEY}-other`

/** Each combination of the annotation and the key. */
// biome-ignore format: a table
export const lastAppliedRows: readonly Row<keyof typeof LAST_APPLIED_CALLERS>[] = [
  { name: 'a key that its annotation contains', by: 'writer', to: applied(HOLDS_KEY, KEY), refused: REFUSED_BY_ADVICE },
  { name: 'a key that its annotation does not contain', by: 'writer', to: applied({ ttl: 60 }, KEY) },
  { name: 'a digest that its annotation contains', by: 'writer', to: applied({ key: DIGEST }, DIGEST) },
  { name: 'an object without a key whose annotation contains one', by: 'writer', to: applied(HOLDS_KEY) },
  { name: 'the annotation to one that contains the key', by: 'writer', from: applied({}, KEY), to: applied(HOLDS_KEY, KEY), refused: REFUSED_BY_ADVICE },
  { name: 'the key to the one in the annotation', by: 'generator', from: applied(HOLDS_KEY), to: applied(HOLDS_KEY, KEY), refused: REFUSED_BY_ADVICE },
  { name: 'the key to a part of the one in the annotation', by: 'generator', from: applied({ key: LONGER }), to: applied({ key: LONGER }, KEY), refused: REFUSED_BY_ADVICE },
  { name: 'the key to one that the annotation contains in part', by: 'generator', from: applied(HOLDS_KEY), to: applied(HOLDS_KEY, LONGER) },
  { name: 'the annotation to another without the key', by: 'writer', from: applied({ ttl: 60 }, KEY), to: applied({ ttl: 90 }, KEY) },
]

/** The grants of each caller. */
export const RESERVED_CALLERS = {
  writer: [WRITES],
  generator: [WRITES, onPlatformKinds(['generate'], ['ownedaccesskeys'])],
  delegate: [WRITES, onPlatformKinds(['delegate'], ['ownedaccesskeys'])],
} as const

type Caller = keyof typeof RESERVED_CALLERS

const LABEL = 'management.platform.sh/made-with'
const labelled = (value: string, more: object = {}): Manifest => ({
  metadata: { labels: { [LABEL]: value, ...more } },
  spec: {},
})
const UNLABELLED: Manifest = { spec: {} }

const keyOf = (spec: Manifest['spec']): Manifest => ({ spec })
const OF_BOB = { user: 'bob', groups: ['dev'] }

/** The beginning of the message: the name of the object follows. */
const keyRefused = {
  code: 403,
  says: 'spec.key: setting the key of an existing object needs the verb generate on ownedaccesskeys/',
} as const

const digestRefused = {
  code: 403,
  says: 'spec.user: naming user bob in a key that holds a digest needs the verb impersonate on users/bob, which generator does not have; leave key out and one is generated, or have that granted',
} as const

const labelRefused = (by: Caller, instead: string) =>
  ({
    code: 403,
    says: `metadata.labels: ${LABEL} names the key that this one was made with; changing it needs the verb delegate on ownedaccesskeys, which ${by} does not have; ${instead}`,
  }) as const

const KEEP = 'keep it as it is'
const OMIT = 'leave it out'

/** Each way to set spec.key and the label, by callers with and without the right. */
// biome-ignore format: a table
export const reservedRows: readonly Row<Caller>[] = [
  { name: 'an object with a key', by: 'writer', to: keyOf({ key: KEY }) },
  { name: 'an object without a key to one with it', by: 'writer', from: keyOf(OF_BOB), to: keyOf({ ...OF_BOB, key: KEY }), refused: keyRefused },
  { name: 'an object of the caller without a key to one with it', by: 'writer', from: keyOf({ user: 'writer' }), to: keyOf({ user: 'writer', key: KEY }), refused: keyRefused },
  { name: 'an object without an identity to one with a key', by: 'writer', from: keyOf({}), to: keyOf({ key: KEY }), refused: keyRefused },
  { name: 'an object with an empty key to one with a digest', by: 'writer', from: keyOf({ key: '' }), to: keyOf({ key: DIGEST }), refused: keyRefused },
  { name: 'an object without a key to one with an empty key', by: 'writer', from: keyOf({}), to: keyOf({ key: '' }) },
  { name: 'a field other than the key', by: 'writer', from: keyOf({ key: KEY }), to: keyOf({ key: KEY, ttl: 60 }) },
  { name: 'an object without a key to one with it', by: 'generator', from: keyOf(OF_BOB), to: keyOf({ ...OF_BOB, key: KEY }) },
  { name: 'an object without an identity to one with a digest', by: 'generator', from: keyOf({}), to: keyOf({ key: DIGEST }) },
  { name: 'an object of a user to one with a digest', by: 'generator', from: keyOf({ user: 'bob' }), to: keyOf({ user: 'bob', key: DIGEST }), refused: digestRefused },
  { name: 'an object without a key to one with it', by: 'delegate', from: keyOf(OF_BOB), to: keyOf({ ...OF_BOB, key: KEY }) },
  { name: 'an object of a user to one with a digest', by: 'delegate', from: keyOf({ user: 'bob' }), to: keyOf({ user: 'bob', key: DIGEST }) },
  { name: 'an object with the label', by: 'writer', to: labelled('a'), refused: labelRefused('writer', OMIT) },
  { name: 'an object with an empty label', by: 'writer', to: labelled(''), refused: labelRefused('writer', OMIT) },
  { name: 'the label from none to a first one', by: 'writer', from: UNLABELLED, to: labelled('a'), refused: labelRefused('writer', OMIT) },
  { name: 'the label to another', by: 'writer', from: labelled('a'), to: labelled('b'), refused: labelRefused('writer', KEEP) },
  { name: 'the label to none', by: 'writer', from: labelled('a'), to: UNLABELLED, refused: labelRefused('writer', KEEP) },
  { name: 'an empty label to none', by: 'writer', from: labelled(''), to: UNLABELLED, refused: labelRefused('writer', KEEP) },
  { name: 'the label to none', by: 'generator', from: labelled('a'), to: UNLABELLED, refused: labelRefused('generator', KEEP) },
  { name: 'another label', by: 'writer', from: labelled('a'), to: labelled('a', { note: 'changed' }) },
  { name: 'a field beside the label', by: 'writer', from: labelled('a'), to: { ...labelled('a'), spec: { disabled: true } } },
  { name: 'an object with the label', by: 'delegate', to: labelled('a') },
  { name: 'the label to another', by: 'delegate', from: labelled('a'), to: labelled('b') },
  { name: 'the label to none', by: 'delegate', from: labelled('a'), to: UNLABELLED },
]

/** The grants of each caller. */
export const FINALIZER_CALLERS = {
  writer: [WRITES],
  keyFinisher: [WRITES, onPlatformKinds(['update'], ['ownedaccesskeys/finalizers'])],
  tokenFinisher: [WRITES, onPlatformKinds(['update'], ['directclusterendpointtokens/finalizers'])],
  claimFinisher: [WRITES, onPlatformKinds(['update'], ['accesskeyclaims/finalizers'])],
  peopleFinisher: [
    WRITES,
    onPlatformKinds(['update'], ['configs/finalizers', 'users/finalizers', 'teams/finalizers']),
  ],
} as const

type FinalizerCaller = keyof typeof FINALIZER_CALLERS

const FOREIGN = 'example.com/backup'

interface Case {
  readonly name: string
  readonly by: FinalizerCaller
  readonly from: readonly string[]
  readonly to: readonly string[]
  /** An annotation changes too. */
  readonly noted?: true
  readonly refused?: true
}

/**
 * Each change of finalizers, by callers with the right for this kind (`may`), for another kind (`mayNot`), and
 * without.
 */
export function finalizerRows(
  plural: string,
  may: FinalizerCaller,
  mayNot: FinalizerCaller,
): readonly Row<FinalizerCaller>[] {
  // biome-ignore format: a table
  const cases: readonly Case[] = [
    { name: 'our finalizer to none', by: 'writer', from: [REVOKE_FINALIZER], to: [], refused: true },
    { name: 'two finalizers to the foreign one', by: 'writer', from: [REVOKE_FINALIZER, FOREIGN], to: [FOREIGN], refused: true },
    { name: 'our finalizer to a foreign one', by: 'writer', from: [REVOKE_FINALIZER], to: [FOREIGN], refused: true },
    { name: 'our finalizer to none, with the right for another kind', by: mayNot, from: [REVOKE_FINALIZER], to: [], refused: true },
    { name: 'our finalizer to none', by: may, from: [REVOKE_FINALIZER], to: [] },
    { name: 'two finalizers to the foreign one', by: may, from: [REVOKE_FINALIZER, FOREIGN], to: [FOREIGN] },
    { name: 'two finalizers to ours', by: 'writer', from: [REVOKE_FINALIZER, FOREIGN], to: [REVOKE_FINALIZER] },
    { name: 'the finalizers from none to ours', by: 'writer', from: [], to: [REVOKE_FINALIZER] },
    { name: 'an annotation beside our finalizer', by: 'writer', from: [REVOKE_FINALIZER], to: [REVOKE_FINALIZER], noted: true },
  ]
  return cases.map(({ name, by, from, to, noted, refused }) => ({
    name,
    by,
    from: held(from),
    to: held(to, noted && { annotations: { note: 'changed' } }),
    ...(refused && { refused: { code: 403, says: missing(by, plural) } }),
  }))
}

const held = (finalizers: readonly string[], more: object = {}): Manifest => ({
  metadata: { ...more, ...(finalizers.length > 0 && { finalizers }) },
  spec: {},
})

const missing = (by: string, plural: string): string =>
  `metadata.finalizers: taking off management.platform.sh/revoke needs the verb update on ${plural}/finalizers, which ${by} does not have; keep it, as it holds the object until its credentials are revoked everywhere`
