// What a report of the sign-in process may change in a Login key, and what never (contract 25.7, 24.5).
import { describe, expect, test } from 'vitest'
import {
  type IdentityChange,
  type ReportedIdentity,
  awaitedRefreshMs,
  identityChangeOf,
  storedReportOf,
} from '../../../../src/controllers/ownedaccesskey/identity-change.ts'
import { plan } from '../../../../src/controllers/ownedaccesskey/plan.ts'
import type { AccessKey } from '../../../../src/domain/accesskey/access-key.ts'
import { accessKey, after, circumstances } from '../../../support/key-builder.ts'
import { reportObject, reportText } from './report-builder.ts'
import { HEARTBEAT_NAME, REVOKE_FINALIZER } from '../../../../src/api/names.ts'

const NOW = 100
const said = (differing: Partial<ReportedIdentity> = {}): ReportedIdentity => ({
  keyUid: 'uid-ci',
  refreshedMs: null,
  gone: null,
  ...differing,
})
const refreshed = (second: number): ReportedIdentity => said({ refreshedMs: after(second) })
const gone = (reason: 'IdentityGone' | 'SignInAgain', second = 90): ReportedIdentity =>
  said({ gone: { atMs: after(second), reason } })
const both = { ...gone('IdentityGone'), refreshedMs: after(95) }

const isRefreshed = (second: number): IdentityChange => ({
  kind: 'refreshed',
  atMs: after(second),
})
const isGone = (reason: 'IdentityGone' | 'SignInAgain', second = 90): IdentityChange => ({
  kind: 'gone',
  atMs: after(second),
  reason,
})

interface Row {
  readonly name: string
  readonly key?: Partial<AccessKey>
  readonly report: ReportedIdentity | null
  readonly change: IdentityChange | null
}

// biome-ignore format: a table
const ROWS: readonly Row[] = [
  { name: 'no report', report: null, change: null },
  { name: 'a report that says nothing', report: said(), change: null },
  { name: 'a first refresh', report: refreshed(50), change: isRefreshed(50) },
  { name: 'a first refresh before the creation', report: refreshed(-500), change: isRefreshed(-500) },
  { name: 'a later refresh', key: { refreshedMs: after(49.999) }, report: refreshed(50), change: isRefreshed(50) },
  { name: 'the refresh that is written', key: { refreshedMs: after(50) }, report: refreshed(50), change: null },
  { name: 'an earlier refresh', key: { refreshedMs: after(51) }, report: refreshed(50), change: null },
  { name: 'a refresh of this moment', report: refreshed(NOW), change: isRefreshed(NOW) },
  { name: 'a refresh in the future', key: { refreshedMs: after(0) }, report: refreshed(NOW + 0.001), change: null },
  { name: 'a refresh of a key that is stale', key: { refreshedMs: after(-90_000) }, report: refreshed(50), change: isRefreshed(50) },
  { name: 'a refresh of a key whose time is malformed', key: { refreshedMs: 0 }, report: refreshed(50), change: isRefreshed(50) },
  { name: 'a refresh of a disabled key', key: { isDisabled: true }, report: refreshed(50), change: isRefreshed(50) },
  { name: 'a refresh of another key of that name', key: { uid: 'uid-new' }, report: refreshed(50), change: null },
  { name: 'a refresh of a key of type User', key: { type: 'User' }, report: refreshed(50), change: null },
  { name: 'a refresh of a key without a type', key: { type: '' }, report: refreshed(50), change: null },
  { name: 'a refresh of a key that is being deleted', key: { isDeleting: true }, report: refreshed(50), change: null },
  { name: 'a refresh of a person who is gone', key: { identityGone: 'IdentityGone' }, report: refreshed(50), change: null },
  { name: 'a refresh of a person who must sign in again', key: { identityGone: 'SignInAgain' }, report: refreshed(50), change: null },
  { name: 'an end', report: gone('IdentityGone'), change: isGone('IdentityGone') },
  { name: 'an end that accuses nobody', report: gone('SignInAgain'), change: isGone('SignInAgain') },
  { name: 'an end in the future', report: gone('IdentityGone', 10 ** 9), change: isGone('IdentityGone', 10 ** 9) },
  { name: 'an end of a disabled key', key: { isDisabled: true }, report: gone('IdentityGone'), change: isGone('IdentityGone') },
  { name: 'an end that comes with a refresh', report: both, change: isGone('IdentityGone') },
  { name: 'an end that is written, with a refresh', key: { identityGone: 'IdentityGone' }, report: both, change: null },
  { name: 'the end that is written', key: { identityGone: 'SignInAgain' }, report: gone('SignInAgain'), change: null },
  { name: 'a worse end', key: { identityGone: 'SignInAgain' }, report: gone('IdentityGone'), change: isGone('IdentityGone') },
  { name: 'a milder end', key: { identityGone: 'IdentityGone' }, report: gone('SignInAgain'), change: null },
  { name: 'an end of another key of that name', key: { uid: 'uid-new' }, report: gone('IdentityGone'), change: null },
  { name: 'an end of a key of type User', key: { type: 'User' }, report: gone('IdentityGone'), change: null },
  { name: 'an end of a key that is being deleted', key: { isDeleting: true }, report: gone('IdentityGone'), change: null },
]

describe('what a report changes (25.7)', () => {
  test.each(ROWS)('$name', ({ key, report, change }) => {
    const reported = accessKey({ type: 'Login', ...key })
    expect(identityChangeOf(reported, report, after(NOW))).toEqual(change)
  })

  // biome-ignore format: a table
  test.each([
    { name: 'a refresh in the future', key: {}, report: refreshed(NOW + 3), dueMs: after(NOW + 3) },
    { name: 'a refresh that is due', key: {}, report: refreshed(NOW), dueMs: null },
    { name: 'a refresh in the future of a person who is gone', key: { identityGone: 'SignInAgain' as const }, report: refreshed(NOW + 3), dueMs: null },
    { name: 'one of another key', key: { uid: 'uid-new' }, report: refreshed(NOW + 3), dueMs: null },
    { name: 'an end', key: {}, report: gone('IdentityGone', NOW + 3), dueMs: null },
    { name: 'no report', key: {}, report: null, dueMs: null },
  ])('waits until its time: $name', ({ key, report, dueMs }) => {
    const reported = accessKey({ type: 'Login', ...key })
    expect(awaitedRefreshMs(reported, report, after(NOW))).toBe(dueMs)
  })
})

describe('the step of a report (25.7)', () => {
  const at = (second: number, report: ReportedIdentity | null, around = {}) =>
    circumstances({ nowMs: after(second), report, ...around })
  const record = (change: IdentityChange) => ({ kind: 'record', change })

  // biome-ignore format: a table
  test.each<{ name: string; key?: Partial<AccessKey>; around?: object; step: object }>([
    { name: 'comes before the status', step: record(isGone('IdentityGone')) },
    { name: 'comes after the end of the key, too', key: { ttl: 1 }, step: record(isGone('IdentityGone')) },
    { name: 'comes after the adoption', key: { finalizers: [] }, step: { kind: 'adopt' } },
    { name: 'comes after the claim of a gateway', key: { isUnclaimed: true, firstSeenMs: after(99) }, step: { kind: 'wait' } },
    { name: 'does not keep a surplus sign-in', around: { isSurplusLogin: true }, step: { kind: 'delete' } },
    { name: 'does not hold up a deletion', key: { isDeleting: true, finalizers: [REVOKE_FINALIZER] }, step: { kind: 'release' } },
    { name: 'is none for the heartbeat key', key: { name: HEARTBEAT_NAME, digest: null }, step: { kind: 'publish' } },
  ])('$name', ({ key, around, step }) => {
    const reported = accessKey({ type: 'Login', ...key })
    expect(plan(reported, at(NOW, gone('IdentityGone'), around))).toMatchObject(step)
  })

  test('a refresh that a clock ahead of ours reports is planned at its time', () => {
    const key = accessKey({ type: 'Login', refreshedMs: after(0) })
    const report = refreshed(NOW + 3)
    const first = plan(key, at(NOW, report))
    expect(first).toMatchObject({ kind: 'publish', wakeMs: after(NOW + 3) })
    expect(plan(key, at(NOW + 3, report))).toEqual(record(isRefreshed(NOW + 3)))
  })
})

describe('what the store keeps of a report', () => {
  const identity = { username: 'ada', groups: ['dev'] }
  const time = '2026-11-21T10:00:50.5Z'
  const text = (parts: object) => JSON.stringify({ keyUid: 'uid-ci', ...parts })
  const nested = (levels: number): object => (levels === 0 ? {} : { a: nested(levels - 1) })

  // biome-ignore format: a table
  test.each<{ name: string; text: string; kept: ReportedIdentity | null }>([
    { name: 'its times and its uid', text: reportText({ refreshed: { atMs: after(50), identity }, gone: { atMs: after(90), reason: 'SignInAgain' } }), kept: { ...gone('SignInAgain'), refreshedMs: after(50) } },
    { name: 'milliseconds', text: text({ refreshed: { time, identity } }), kept: refreshed(50.5) },
    { name: 'nothing of one that says nothing', text: reportText(), kept: null },
    { name: 'nothing of an empty text', text: '', kept: null },
    { name: 'nothing of no JSON', text: '{"keyUid":', kept: null },
    { name: 'nothing of a list', text: '[]', kept: null },
    { name: 'nothing without the uid of a key', text: JSON.stringify({ refreshed: { time, identity } }), kept: null },
    { name: 'nothing of a refresh without an identity', text: text({ refreshed: { time } }), kept: null },
    { name: 'nothing of a refresh with a list as identity', text: text({ refreshed: { time, identity: [] } }), kept: null },
    { name: 'nothing of a refresh with a time in words', text: text({ refreshed: { time: 'now', identity } }), kept: null },
    { name: 'nothing of an end for another reason', text: text({ gone: { time, reason: 'Whatever' } }), kept: null },
    { name: 'an end beside a malformed refresh', text: text({ refreshed: {}, gone: { time, reason: 'IdentityGone' } }), kept: gone('IdentityGone', 50.5) },
    { name: 'an identity of some levels', text: text({ refreshed: { time, identity: nested(62) } }), kept: refreshed(50.5) },
    { name: 'nothing of an identity of more', text: text({ refreshed: { time, identity: nested(66) } }), kept: null },
    { name: 'nothing of lists within lists', text: `{"keyUid":"uid-ci","refreshed":{"time":"${time}","identity":{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}}}`, kept: null },
    { name: 'nothing of a text that is too long', text: text({ refreshed: { time, identity: { a: 'x'.repeat(1_048_576) } } }), kept: null },
  ])('$name', ({ text: stored, kept }) => {
    expect(storedReportOf(reportObject(stored)).said).toEqual(kept)
  })

  test('nothing of a ConfigMap without data', () => {
    const { data: _, ...empty } = reportObject('')
    expect(storedReportOf(empty).said).toBeNull()
  })
})
