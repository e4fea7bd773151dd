import { describe, expect, test } from 'vitest'
import type { HostPlace, NamespaceMappings } from '../../../../src/sync/objects/host-name.ts'
import {
  type LeadingNamespace,
  type NamespaceFacts,
  isMappedNamespace,
  mappingFaults,
  planNamespace,
} from '../../../../src/sync/namespaces/plan.ts'
import type { NamespaceMark } from '../../../../src/sync/namespaces/marks.ts'

/** A virtual namespace; its minute of creation is in the uid, such as `a1`. */
const virtual = (uid: string, given: Partial<LeadingNamespace> = {}): LeadingNamespace => ({
  name: uid.charAt(0),
  uid,
  creationTimestamp: `2026-01-01T00:0${uid.charAt(1)}:00Z`,
  isTerminating: false,
  ...given,
})
const ending = (uid: string) => virtual(uid, { isTerminating: true })

const none: NamespaceMark = { kind: 'none' }
const foreign: NamespaceMark = { kind: 'foreign' }
const ours = (uid: string, isMade = true): NamespaceMark => ({
  kind: 'ours',
  virtual: { name: uid.charAt(0), uid },
  isMade,
})
const host = (mark: NamespaceMark, isTerminating = false): NamespaceFacts['host'] => ({
  mark,
  isTerminating,
})

interface Row {
  readonly name: string
  readonly leading?: readonly LeadingNamespace[]
  readonly host?: NamespaceFacts['host']
  readonly isNamed?: true
  readonly isReserved?: true
  /** The kind, with the uid of the virtual namespace where it has one, and whether the syncer made it. */
  readonly plan: string
  readonly leftOut?: readonly string[]
}

function planned({ leading = [], host: found = null, isNamed, isReserved }: Row) {
  const { plan, leftOut } = planNamespace({
    leading,
    host: found,
    isNamed: isNamed ?? false,
    isReserved: isReserved ?? false,
  })
  const made = 'isMade' in plan ? [plan.isMade ? 'made' : 'not made'] : []
  const text = [plan.kind, ...('virtual' in plan ? [plan.virtual.uid] : []), ...made].join(' ')
  return [text, leftOut.map(({ uid }) => uid)]
}

const [a, b] = [virtual('a1'), virtual('b2')]

describe('a host namespace', () => {
  test.each<Row>([
    { name: 'that no virtual namespace wants', plan: 'nothing' },
    { name: 'that is missing', leading: [a], plan: 'create a1' },
    { name: 'that is missing, for one that ends', leading: [ending('a1')], plan: 'nothing' },
    { name: 'of another user', host: host(none), plan: 'nothing' },
    { name: 'of another virtual cluster', host: host(foreign), plan: 'nothing' },
    { name: 'that is marked', leading: [a], host: host(ours('a1')), plan: 'use a1' },
    {
      name: 'of a virtual one that was created again',
      leading: [a],
      host: host(ours('a0')),
      plan: 'mark a1 made',
    },
    {
      name: 'not made, of a virtual one that was created again',
      leading: [a],
      host: host(ours('a0', false)),
      plan: 'mark a1 not made',
    },
    {
      name: 'that exists',
      leading: [a],
      host: host(none),
      plan: 'conflict',
      leftOut: ['a1'],
    },
    {
      name: 'that exists and is named',
      leading: [a],
      host: host(none),
      isNamed: true,
      plan: 'mark a1 not made',
    },
    {
      name: 'of another virtual cluster that is named',
      leading: [a],
      host: host(foreign),
      isNamed: true,
      plan: 'conflict',
      leftOut: ['a1'],
    },
    {
      name: 'that exists, for one that ends',
      leading: [ending('a1')],
      host: host(none),
      isNamed: true,
      plan: 'nothing',
    },
    { name: 'that terminates', leading: [a], host: host(ours('a1'), true), plan: 'wait' },
    { name: 'of another user that ends', leading: [a], host: host(none, true), plan: 'wait' },
    { name: 'whose virtual one is gone', host: host(ours('a1')), plan: 'end a1 made' },
    { name: 'not made, one gone', host: host(ours('a1', false)), plan: 'end a1 not made' },
    {
      name: 'whose virtual one ends',
      leading: [ending('a1')],
      host: host(ours('a1')),
      plan: 'wait',
    },
    { name: 'that ends after its virtual one', host: host(ours('a1'), true), plan: 'wait' },
  ])('$name: $plan (17.5)', (row) => {
    expect(planned(row)).toEqual([row.plan, row.leftOut ?? []])
  })

  test.each<Row>([
    { name: 'the oldest gets it', leading: [b, a], plan: 'create a1', leftOut: ['b2'] },
    {
      name: 'of the same age the first by name gets it',
      leading: [virtual('b1'), virtual('a1')],
      plan: 'create a1',
      leftOut: ['b1'],
    },
    {
      name: 'the marked one keeps it',
      leading: [a, b],
      host: host(ours('b2')),
      plan: 'use b2',
      leftOut: ['a1'],
    },
    {
      name: 'one that ends leads no more',
      leading: [ending('a1'), b],
      plan: 'create b2',
    },
    {
      name: 'while the marked one ends, the next waits',
      leading: [ending('a1'), b, virtual('c3')],
      host: host(ours('a1')),
      plan: 'wait',
      leftOut: ['c3'],
    },
    {
      name: 'when the marked one is gone, it ends before the next gets it',
      leading: [b, virtual('c3')],
      host: host(ours('a1')),
      plan: 'end a1 made',
      leftOut: ['c3'],
    },
    {
      name: 'all are left out of a foreign one',
      leading: [a, b],
      host: host(none),
      plan: 'conflict',
      leftOut: ['a1', 'b2'],
    },
  ])('that several lead to: $name (17.5)', (row) => {
    expect(planned(row)).toEqual([row.plan, row.leftOut ?? []])
  })

  test.each<Row>([
    { name: 'missing', leading: [a], plan: 'conflict', leftOut: ['a1'] },
    { name: 'there', leading: [a], host: host(none), plan: 'conflict', leftOut: ['a1'] },
    { name: 'named', leading: [a], isNamed: true, plan: 'conflict', leftOut: ['a1'] },
    {
      name: 'marked by a user',
      leading: [a],
      host: host(ours('a1')),
      plan: 'conflict',
      leftOut: ['a1'],
    },
    { name: 'marked by a user, and not wanted', host: host(ours('a1')), plan: 'nothing' },
  ])("the syncer's own is never used, $name (17.5)", (row) => {
    expect(planned({ ...row, isReserved: true })).toEqual([row.plan, row.leftOut ?? []])
  })
})

const placeWith = (namespaces: NamespaceMappings): HostPlace => ({
  virtualCluster: 'vc',
  hostNamespace: 'vc-host',
  namespaces,
})

test.each<{ host: string; mappings: NamespaceMappings; isNamed: boolean }>([
  { host: 'x', mappings: [], isNamed: false },
  { host: 'x', mappings: [['a', 'x']], isNamed: true },
  { host: 'a', mappings: [['a', 'x']], isNamed: false },
  { host: 'prod-a', mappings: [['team-*', 'prod-*']], isNamed: false },
  { host: 'kube-system', mappings: [['*', '*']], isNamed: false },
])('$host is named in $mappings: $isNamed (17.5)', ({ host: name, mappings, isNamed }) => {
  expect(isMappedNamespace(name, placeWith(mappings))).toBe(isNamed)
})

describe('faults of mappings at start', () => {
  const named = (name: string, isTerminating = false): LeadingNamespace =>
    virtual('x1', { name, isTerminating })
  const hosts = new Map(
    Object.entries({
      'vc-host': host(none),
      'kube-system': host(none),
      'vc-x-a': host({ ...ours('a1'), virtual: { name: 'a', uid: 'a1' } } as NamespaceMark),
      'vc-x-b': host(foreign),
      existing: host(none),
    }),
  )
  test.each<{
    name: string
    mappings?: NamespaceMappings
    namespaces: readonly LeadingNamespace[]
    faults: readonly string[]
  }>([
    { name: 'none', namespaces: [named('a'), named('c')], faults: [] },
    {
      name: 'two lead to one',
      mappings: [
        ['team-*', 'prod-*'],
        ['one', 'prod-two'],
      ],
      namespaces: [named('team-two'), named('one')],
      faults: ['one and team-two lead to one namespace of the host, prod-two'],
    },
    {
      name: 'one of the two ends',
      mappings: [
        ['team-*', 'prod-*'],
        ['one', 'prod-two'],
      ],
      namespaces: [named('team-two'), named('one', true)],
      faults: [],
    },
    {
      name: 'a pattern leads to a namespace of the host',
      mappings: [['*', '*']],
      namespaces: [named('kube-system')],
      faults: ['kube-system leads to kube-system on the host, which is not its own'],
    },
    {
      name: 'made names are taken',
      namespaces: [named('b')],
      faults: ['b leads to vc-x-b on the host, which is not its own'],
    },
    {
      name: 'a named one exists',
      mappings: [['a', 'existing']],
      namespaces: [named('a')],
      faults: [],
    },
    {
      name: "the syncer's own is mapped, also without a namespace that leads there",
      mappings: [['zz', 'vc-host']],
      namespaces: [],
      faults: ["zz is mapped to vc-host, which is the syncer's own"],
    },
    {
      name: "a pattern leads to the syncer's own",
      mappings: [['*', 'vc-*']],
      namespaces: [named('host')],
      faults: ['host leads to vc-host on the host, which is not its own'],
    },
    {
      name: 'all at once',
      mappings: [
        ['zz', 'vc-host'],
        ['p*', 'existing*'],
        ['q', 'existing2'],
      ],
      namespaces: [named('zz'), named('b'), named('p2'), named('q'), named('p')],
      faults: [
        "zz is mapped to vc-host, which is the syncer's own",
        'b leads to vc-x-b on the host, which is not its own',
        'p2 and q lead to one namespace of the host, existing2',
        'p leads to existing on the host, which is not its own',
      ],
    },
  ])('$name (17.5)', ({ mappings = [], namespaces, faults }) => {
    expect(mappingFaults(namespaces, hosts, placeWith(mappings))).toEqual(faults)
  })
})
