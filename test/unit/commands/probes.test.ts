// The readiness that every process shares (contract 8.2).
import { expect, test } from 'vitest'
import { commonChecks } from '../../../src/commands/shared/probes.ts'

const NONE = { unserved: [] as readonly string[], stuck: [] as readonly string[], synced: true }

test.each([
  { name: 'every store is current', differs: {}, faults: {} },
  {
    name: 'a kind is not served',
    differs: { unserved: ['configs'] },
    faults: { 'crds-served': 'configs not served, install the CRDs with kubectl apply -k crds' },
  },
  {
    name: 'a store has no complete list yet',
    differs: { synced: false },
    faults: { 'stores-synced': 'keys not listed yet' },
  },
  {
    name: 'a watch gets malformed objects',
    differs: { stuck: ['ownedaccesskeys', 'secrets'] },
    faults: {
      'stores-synced':
        'ownedaccesskeys, secrets failed three times on the same events, being listed again: see the log',
    },
  },
])('readiness when $name (8.2)', ({ differs, faults }) => {
  const { unserved, stuck, synced } = { ...NONE, ...differs }
  const follower = { unserved: () => unserved, stuck: () => stuck }
  const checks = commonChecks(new AbortController().signal, follower, { keys: { synced } })
  const failing = Object.entries(checks).flatMap(([check, run]) => {
    const because = run()
    return because === null ? [] : [[check, because] as const]
  })
  expect(Object.fromEntries(failing)).toEqual(faults)
})

test('a process that shuts down is not ready (8.2)', () => {
  const follower = { unserved: () => [], stuck: () => [] }
  const checks = commonChecks(AbortSignal.abort(), follower, {})
  expect(checks['not-stopping']?.()).toBe('the program is stopping')
})
