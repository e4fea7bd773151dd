import { describe, expect, test } from 'vitest'
import { SECRET_STORE_WRITTEN_ANNOTATION } from '../../../../src/api/secret-store-names.ts'
import { entryOwner, planPush, writtenVersion } from '../../../../src/domain/store/push-plan.ts'
import type { EntryMetadata } from '../../../../src/domain/store/store-answers.ts'

const secret = (written?: string) => ({
  name: 'app',
  namespace: 'p-shop',
  uid: 'uid-1',
  annotations: written === undefined ? {} : { [SECRET_STORE_WRITTEN_ANNOTATION]: written },
})
type PushPlan = ReturnType<typeof planPush>

const planOf = (
  currentVersion: number,
  state: EntryMetadata['state'],
  customMetadata: EntryMetadata['customMetadata'],
  written?: string,
): PushPlan =>
  planPush(secret(written), { currentVersion, createdTime: 't', state, customMetadata })

const US = { 'managed-by': 'management-operator', namespace: 'p-shop', name: 'app', uid: 'uid-1' }

/** Whose custom metadata say the entry is, without its version. */
const OWNERS: Readonly<Record<string, EntryMetadata['customMetadata']>> = {
  'no owner': {},
  'people who describe it': { team: 'x', namespace: 'p-shop', name: 'app' },
  us: US,
  'a Secret before of this name': { ...US, uid: 'uid-0' },
  'another Secret': { ...US, name: 'other' },
  'another namespace': { ...US, namespace: 'p-blog' },
  'another program': { ...US, 'managed-by': 'external-secrets' },
  'a program without a name': { ...US, 'managed-by': '' },
}
const ARE_OURS: ReadonlySet<string> = new Set(['us', 'a Secret before of this name'])
const ARE_NOBODYS: ReadonlySet<string> = new Set(['no owner', 'people who describe it'])

const VERSIONS = [1, 2, 7]
const STATES = ['live', 'deleted', 'destroyed'] as const
const ANNOTATIONS = ['absent', '1', '2', '7', '3', '0', '-1', '07', 'x', '']
const CUSTOM_VERSIONS = ['absent', '1', '2', '7', '3', 'x']

const rows = Object.keys(OWNERS).flatMap((owner) =>
  VERSIONS.flatMap((version) =>
    STATES.flatMap((state) =>
      ANNOTATIONS.flatMap((annotation) =>
        CUSTOM_VERSIONS.map((custom) => ({ owner, version, state, annotation, custom })),
      ),
    ),
  ),
)
type Row = (typeof rows)[number]

function plan({ owner, version, state, annotation, custom }: Row): PushPlan {
  const metadata = { ...OWNERS[owner], ...(custom === 'absent' ? {} : { version: custom }) }
  return planOf(version, state, metadata, annotation === 'absent' ? undefined : annotation)
}
const isNamed = ({ version, custom }: Row): boolean => custom === String(version)
const where = (isOne: (row: Row) => boolean): readonly PushPlan[] => rows.filter(isOne).map(plan)

describe(`a push, in each of ${rows.length} states (36.4)`, () => {
  test('never touches an entry of another owner', () => {
    const plans = where(({ owner }) => !ARE_OURS.has(owner) && !ARE_NOBODYS.has(owner))
    expect(plans.length).toBeGreaterThan(2000)
    expect(plans.every(({ kind }) => kind === 'conflict')).toBe(true)
  })

  test('never replaces data of an entry of no owner, whatever the annotation says', () => {
    const plans = where(({ owner }) => ARE_NOBODYS.has(owner))
    expect(
      plans.every((one) => one.kind === 'conflict' || (one.kind === 'compare' && !one.isOurs)),
    ).toBe(true)
  })

  test('compares a first version of no owner, whatever the annotation says: a crash leaves it so', () => {
    for (const row of rows.filter(({ owner }) => ARE_NOBODYS.has(owner))) {
      const isFirst = row.version === 1 && row.state === 'live'
      expect({ row, kind: plan(row).kind }).toEqual({ row, kind: isFirst ? 'compare' : 'conflict' })
    }
  })

  test('replaces the version that the entry names, and none for the annotation, on check-and-set', () => {
    for (const row of rows.filter(({ owner }) => ARE_OURS.has(owner))) {
      const { version, state } = row
      const live = { kind: 'compare', cas: version, isOurs: isNamed(row) }
      const ended = isNamed(row) ? { kind: 'write', cas: version } : { kind: 'conflict' }
      expect({ row, plan: plan(row) }).toEqual({ row, plan: state === 'live' ? live : ended })
    }
  })

  test('never writes without the condition that the version is the current one', () => {
    for (const row of rows) {
      const one = plan(row)
      const cas = one.kind === 'conflict' ? row.version : one.cas
      expect({ row, cas }).toEqual({ row, cas: row.version })
    }
  })
})

describe('a push where no version is (36.4)', () => {
  test('creates, on the condition that there is none', () => {
    for (const written of [undefined, '1', '7', 'x'])
      expect(planPush(secret(written), null)).toEqual({ kind: 'write', cas: 0 })
  })

  test.each(Object.keys(OWNERS))('and the entry is of %s', (owner) => {
    const isFree = ARE_OURS.has(owner) || ARE_NOBODYS.has(owner)
    for (const written of [undefined, '1', '0'])
      expect(planOf(0, 'none', OWNERS[owner] ?? {}, written)).toEqual(
        isFree ? { kind: 'write', cas: 0 } : { kind: 'conflict' },
      )
  })
})

describe('whose an entry is (36.4)', () => {
  test('with the version, and what others have said stays', () => {
    const custom = { team: 'x', uid: 'old', version: '2' }
    expect(entryOwner(secret(), 3, custom)).toEqual({ ...US, team: 'x', version: '3' })
    expect(custom).toEqual({ team: 'x', uid: 'old', version: '2' })
  })

  // biome-ignore format: a table
  test.each<[text: string | undefined, version: number | null]>([
    ['1', 1], ['42', 42], ['999999999999999', 999_999_999_999_999],
    [undefined, null], ['', null], ['0', null], ['-1', null], ['+1', null], ['01', null], ['1.0', null], ['1e3', null], [' 1', null], ['1 ', null], ['1\n', null], ['0x1', null], ['1000000000000000', null], ['１', null], ['Infinity', null],
  ])('annotation %j names version %s', (text, version) => {
    expect(writtenVersion(secret(text))).toBe(version)
  })
})
