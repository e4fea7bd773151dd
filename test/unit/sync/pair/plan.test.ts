import { describe, expect, test } from 'vitest'
import { planPair } from '../../../../src/sync/pair/plan.ts'

type PairFacts = Parameters<typeof planPair>[0]
type Virtual = NonNullable<PairFacts['virtual']>
type Host = NonNullable<PairFacts['host']>
type Plan = ReturnType<typeof planPair>

const virtualOf = (parts: Partial<Virtual> = {}): Virtual => ({
  uid: 'u1',
  isTerminating: false,
  isLeftAlone: false,
  isWanted: true,
  ...parts,
})

/** A host object of the virtual one. */
const hostOf = (parts: Partial<Host> = {}): Host => ({
  ownerUid: 'u1',
  isTerminating: false,
  isLeftAlone: false,
  isLeftover: false,
  ...parts,
})

const foreign = (parts: Partial<Host> = {}): Host => hostOf({ ownerUid: null, ...parts })
const leftover = (parts: Partial<Host> = {}): Host => foreign({ isLeftover: true, ...parts })

/** The defaults of a row: a virtual object that is to stand on the host, without a host object. */
interface Row {
  readonly name: string
  readonly virtual?: Virtual | null
  readonly host?: Host
  readonly isEnabled?: false
  readonly mayCreate?: false
  readonly plan: Plan
}

const planOf = ({ virtual = virtualOf(), host, isEnabled, mayCreate }: Row): Plan =>
  planPair({
    virtual,
    host: host ?? null,
    isEnabled: isEnabled ?? true,
    mayCreate: mayCreate ?? true,
  })

const off = { isEnabled: false } as const
const held = { mayCreate: false } as const

describe('a virtual object that is to stand on the host', () => {
  test.each<Row>([
    { name: 'is created', plan: 'translate' },
    { name: 'is updated', host: hostOf(), plan: 'translate' },
    { name: 'is not created before its owner is there', ...held, plan: 'wait' },
    { name: 'is updated without its owner', ...held, host: hostOf(), plan: 'translate' },
    {
      name: 'waits for a host object that terminates',
      host: hostOf({ isTerminating: true }),
      plan: 'wait',
    },
    {
      name: 'waits for a foreign host object that terminates',
      host: foreign({ isTerminating: true }),
      plan: 'wait',
    },
    {
      name: 'waits for what remains of the object before it',
      host: hostOf({ ownerUid: 'u0', isTerminating: true }),
      plan: 'wait',
    },
    {
      name: 'replaces the host object of the object before it',
      host: hostOf({ ownerUid: 'u0' }),
      plan: 'delete',
    },
    {
      name: 'replaces the host object of the object before it, also without its owner',
      ...held,
      host: hostOf({ ownerUid: 'u0' }),
      plan: 'delete',
    },
    {
      name: 'takes on a host object without the mark of its uid',
      host: hostOf({ ownerUid: '' }),
      plan: 'translate',
    },
  ])('$name (18.3)', (row) => {
    expect(planOf(row)).toBe(row.plan)
  })
})

describe('a virtual object that is gone', () => {
  test.each<Row>([
    { name: 'takes its host object with it', virtual: null, host: hostOf(), plan: 'delete' },
    {
      name: 'takes its host object with it, whatever uid that has',
      virtual: null,
      host: hostOf({ ownerUid: '' }),
      plan: 'delete',
    },
    {
      name: 'that terminates takes its host object with it',
      virtual: virtualOf({ isTerminating: true }),
      host: hostOf(),
      plan: 'delete',
    },
    {
      name: 'that terminates is not created',
      virtual: virtualOf({ isTerminating: true }),
      plan: 'nothing',
    },
    {
      name: 'waits for no host object that terminates',
      virtual: null,
      host: hostOf({ isTerminating: true }),
      plan: 'nothing',
    },
    { name: 'that nothing is left of', virtual: null, plan: 'nothing' },
    { name: 'leaves a foreign object', virtual: null, host: foreign(), plan: 'nothing' },
    {
      name: 'leaves what the host made of its name',
      virtual: null,
      host: leftover(),
      plan: 'nothing',
    },
    {
      name: 'that terminates leaves a foreign object',
      virtual: virtualOf({ isTerminating: true }),
      host: foreign(),
      plan: 'nothing',
    },
    { name: 'does not need its owner', ...held, virtual: null, host: hostOf(), plan: 'delete' },
  ])('$name (18.3)', (row) => {
    expect(planOf(row)).toBe(row.plan)
  })
})

describe('an object that is not to stand on the host', () => {
  const unwanted = virtualOf({ isWanted: false })
  test.each<Row>([
    { name: 'is not created', virtual: unwanted, plan: 'nothing' },
    { name: 'loses its host object', virtual: unwanted, host: hostOf(), plan: 'delete' },
    {
      name: 'loses the host object of the one before it',
      virtual: unwanted,
      host: hostOf({ ownerUid: 'u0' }),
      plan: 'delete',
    },
    {
      name: 'leaves what the host makes in its place',
      virtual: unwanted,
      host: leftover(),
      plan: 'nothing',
    },
    { name: 'leaves a foreign object', virtual: unwanted, host: foreign(), plan: 'nothing' },
    {
      name: 'waits for nothing',
      virtual: unwanted,
      host: hostOf({ isTerminating: true }),
      plan: 'nothing',
    },
  ])('$name (18.1)', (row) => {
    expect(planOf(row)).toBe(row.plan)
  })
})

describe('a name on the host', () => {
  test.each<Row>([
    { name: 'of a foreign object is a conflict', host: foreign(), plan: 'conflict' },
    {
      name: 'of a foreign object is a conflict, also without the owner',
      ...held,
      host: foreign(),
      plan: 'conflict',
    },
    { name: 'of what the host made before is freed', host: leftover(), plan: 'delete' },
    {
      name: 'of what the host made is waited for while it terminates',
      host: leftover({ isTerminating: true }),
      plan: 'wait',
    },
  ])('$name (16.3, 18.1)', (row) => {
    expect(planOf(row)).toBe(row.plan)
  })
})

describe('what is left alone', () => {
  const aside = { isLeftAlone: true }
  test.each<Row>([
    { name: 'a virtual object', virtual: virtualOf(aside), plan: 'nothing' },
    { name: 'the host object of one', virtual: virtualOf(aside), host: hostOf(), plan: 'nothing' },
    {
      name: 'the host object of an object that terminates',
      virtual: virtualOf({ ...aside, isTerminating: true }),
      host: hostOf(),
      plan: 'nothing',
    },
    { name: 'a host object', host: hostOf(aside), plan: 'nothing' },
    {
      name: 'a host object of another uid',
      host: hostOf({ ...aside, ownerUid: 'u0' }),
      plan: 'nothing',
    },
    {
      name: 'a host object whose virtual object is gone',
      virtual: null,
      host: hostOf(aside),
      plan: 'nothing',
    },
    { name: 'a foreign object', host: foreign(aside), plan: 'nothing' },
    { name: 'what the host made', host: leftover(aside), plan: 'nothing' },
  ])('$name (16.3)', (row) => {
    expect(planOf(row)).toBe(row.plan)
  })
})

describe('a kind that is switched off', () => {
  test.each<Row>([
    { name: 'creates nothing', ...off, plan: 'nothing' },
    { name: 'updates nothing', ...off, host: hostOf(), plan: 'nothing' },
    { name: 'replaces nothing', ...off, host: hostOf({ ownerUid: 'u0' }), plan: 'nothing' },
    {
      name: 'keeps what is not to stand on the host',
      ...off,
      virtual: virtualOf({ isWanted: false }),
      host: hostOf(),
      plan: 'nothing',
    },
    { name: 'reports no foreign object', ...off, host: foreign(), plan: 'nothing' },
    { name: 'frees no name', ...off, host: leftover(), plan: 'nothing' },
    {
      name: 'deletes with the virtual object',
      ...off,
      virtual: null,
      host: hostOf(),
      plan: 'delete',
    },
    {
      name: 'deletes with a virtual object that terminates',
      ...off,
      virtual: virtualOf({ isTerminating: true }),
      host: hostOf(),
      plan: 'delete',
    },
    { name: 'leaves foreign objects', ...off, virtual: null, host: foreign(), plan: 'nothing' },
  ])('$name (16.1)', (row) => {
    expect(planOf(row)).toBe(row.plan)
  })
})

test('nothing foreign is ever written or deleted, unless the host made it (16.3)', () => {
  const each = [true, false]
  const virtuals = [
    null,
    ...each.flatMap((isTerminating) =>
      each.map((isWanted) => virtualOf({ isTerminating, isWanted })),
    ),
  ]
  for (const virtual of virtuals)
    for (const isTerminating of each)
      for (const isEnabled of each)
        for (const mayCreate of each) {
          const facts = { virtual, host: foreign({ isTerminating }), isEnabled, mayCreate }
          expect(['nothing', 'wait', 'conflict']).toContain(planPair(facts))
        }
})
