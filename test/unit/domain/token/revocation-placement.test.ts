/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import type { ConfigMap } from '../../../../src/api/objects.ts'
import {
  type RevocationWrite,
  configMapDataAfter,
  nextRevocationWrite,
} from '../../../../src/domain/token/revocation.ts'
import { HOUR, asked, configMap, entries, jtis, revokedInAll } from './revocations.ts'

/** The ConfigMaps after each addition. */
function additionsFor(
  ids: ReadonlyMap<string, number>,
  held: readonly ConfigMap[],
): readonly RevocationWrite[] {
  const addition = nextRevocationWrite(ids, held)
  if (!addition) return []
  const others = held.filter(({ metadata }) => metadata.name !== addition.name)
  const written = configMap(addition.name, configMapDataAfter(addition))
  return [addition, ...additionsFor(ids, [...others, written])]
}

/** Additions as `name: count`, with `+` where the ConfigMap is there already. */
const shown = (ids: ReadonlyMap<string, number>, held: readonly ConfigMap[]) =>
  additionsFor(ids, held).map(
    (addition) => `${addition.name}${addition.configMap ? '+' : ''}: ${addition.tokens.size}`,
  )

describe('nextRevocationWrite chooses a ConfigMap for revoked tokens (7.4)', () => {
  test.each<{
    readonly name: string
    readonly asked: ReadonlyMap<string, number>
    readonly held?: readonly ConfigMap[]
    readonly plan: readonly string[]
  }>([
    { name: 'no tokens', asked: new Map(), plan: [] },
    { name: 'the first of an hour', asked: asked(['a', 'b']), plan: [`${HOUR}: 2`] },
    {
      name: 'the first ConfigMap with room',
      asked: asked(['a']),
      held: [configMap(HOUR, entries(jtis(1999)))],
      plan: [`${HOUR}+: 1`],
    },
    {
      name: 'a ConfigMap without data',
      asked: asked(['a']),
      held: [configMap(HOUR)],
      plan: [`${HOUR}+: 1`],
    },
    {
      name: 'the last room, then the next ConfigMap',
      asked: asked(['a', 'b', 'c']),
      held: [configMap(HOUR, entries(jtis(1999)))],
      plan: [`${HOUR}+: 1`, `${HOUR}-1: 2`],
    },
    {
      name: '5,000 at once',
      asked: asked(jtis(5000)),
      plan: [`${HOUR}: 2000`, `${HOUR}-1: 2000`, `${HOUR}-2: 1000`],
    },
    {
      name: 'after nine full ConfigMaps',
      asked: asked(['a']),
      held: [HOUR, ...Array.from({ length: 10 }, (_, index) => `${HOUR}-${index + 1}`)].map(
        (name) => configMap(name, entries(jtis(2000, name))),
      ),
      plan: [`${HOUR}-11: 1`],
    },
    {
      name: 'a number whose ConfigMap was deleted',
      asked: asked(['a']),
      held: [
        configMap(HOUR, entries(jtis(2000))),
        configMap(`${HOUR}-2`, entries(jtis(2000, 'two'))),
      ],
      plan: [`${HOUR}-1: 1`],
    },
    {
      name: 'a ConfigMap with more entries than allowed',
      asked: asked(['a']),
      held: [configMap(HOUR, entries(jtis(2100)))],
      plan: [`${HOUR}-1: 1`],
    },
    {
      name: 'an immutable ConfigMap',
      asked: asked(['a']),
      held: [configMap(HOUR, {}, { immutable: true })],
      plan: [`${HOUR}-1: 1`],
    },
    {
      name: 'a ConfigMap being deleted',
      asked: asked(['a']),
      held: [configMap(HOUR, {}, { metadata: { deletionTimestamp: '2026-11-21T10:00:00Z' } })],
      plan: [`${HOUR}-1: 1`],
    },
    {
      name: 'a stored token is not stored again',
      asked: asked(['a', 'b', 'c']),
      held: [configMap(HOUR, entries(['a'])), configMap(`${HOUR}-1`, entries(['b']))],
      plan: [`${HOUR}+: 1`],
    },
    {
      name: 'a stored token with another exp is not stored again',
      asked: asked(['a'], '2026-11-22T08:00:00Z'),
      held: [configMap(HOUR, entries(['a']))],
      plan: [],
    },
    {
      name: 'a stored token with a malformed exp is not stored again',
      asked: asked(['a']),
      held: [configMap(HOUR, { a: '' })],
      plan: [],
    },
    {
      name: 'a ConfigMap of another owner does not count',
      asked: asked(['ca.crt']),
      held: [configMap('kube-root-ca.crt', { 'ca.crt': 'x' })],
      plan: [`${HOUR}: 1`],
    },
    {
      name: 'the name of an object property counts as not stored',
      asked: asked(['constructor', '__proto__']),
      held: [configMap(HOUR, {})],
      plan: [`${HOUR}+: 2`],
    },
    {
      name: 'several hours, in the order of the requests',
      asked: new Map([
        ...asked(['late'], '2026-11-21T12:00:00Z'),
        ...asked(['early'], '2026-11-21T10:59:59.999Z'),
        ...asked(['later'], '2026-11-21T12:59:59Z'),
      ]),
      plan: ['platform-revoked-tokens-2026112112: 2', `${HOUR}: 1`],
    },
  ])('$name', ({ asked: ids, held = [], plan }) => {
    expect(shown(ids, held)).toEqual(plan)
  })

  test('no stored entry is moved or lost', () => {
    const before = { keep: '2026-11-21T10:10:00Z', odd: 'damaged' }
    const [addition] = additionsFor(asked(['new', '__proto__']), [configMap(HOUR, before)])
    expect(addition && JSON.parse(JSON.stringify(configMapDataAfter(addition)))).toEqual(
      JSON.parse(
        `{"keep":"2026-11-21T10:10:00Z","odd":"damaged",
          "new":"2026-11-21T10:30:00Z","__proto__":"2026-11-21T10:30:00Z"}`,
      ),
    )
  })

  test('the written tokens parse to the same tokens', () => {
    const ids = asked(jtis(4100))
    const stored = additionsFor(ids, []).map((addition) =>
      configMap(addition.name, configMapDataAfter(addition)),
    )
    expect(revokedInAll(stored)).toEqual(ids)
    expect(additionsFor(ids, stored)).toEqual([])
  })
})
