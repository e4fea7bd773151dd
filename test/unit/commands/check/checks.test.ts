// What `management-operator check` makes of a Lease, a Config and the shipped roles, without a cluster.
import { describe, expect, test } from 'vitest'
import type { Config } from '../../../../src/api/config.gen.ts'
import {
  checkDelivery,
  checkSettings,
  leaseResult,
} from '../../../../src/commands/check/cluster-checks.ts'
import { lackOf, shippedRights } from '../../../../src/commands/check/rights.ts'
import type { KubeClient } from '../../../../src/kube/client/client.ts'
import type { LeaseSpec } from '../../../../src/kube/leader-election/rules.ts'

const NOW_MS = Date.parse('2026-11-21T10:00:00Z')

describe('the Lease', () => {
  const held = { holderIdentity: 'manager-a', leaseDurationSeconds: 15 }

  test.each<{ readonly name: string; readonly spec: LeaseSpec; readonly says: string }>([
    {
      name: 'renewed a moment ago',
      spec: { ...held, renewTime: '2026-11-21T09:59:58.000000Z' },
      says: 'manager-a leads',
    },
    {
      name: 'of another clock, half a minute behind',
      spec: { ...held, renewTime: '2026-11-21T09:59:16.000000Z' },
      says: 'manager-a leads',
    },
    {
      name: 'of a manager that is gone',
      spec: { ...held, renewTime: '2026-11-21T09:59:14.000000Z' },
      says: 'manager-a has not renewed the Lease since 2026-11-21T09:59:14.000000Z',
    },
    {
      name: 'that was released',
      spec: { ...held, holderIdentity: '' },
      says: 'no manager holds the Lease',
    },
    { name: 'without a content', spec: {}, says: 'no manager holds the Lease' },
    { name: 'never renewed', spec: held, says: 'manager-a has not renewed the Lease since ever' },
  ])('a Lease $name', ({ spec, says }) => {
    const isHeld = says.endsWith('leads')
    const result = { kind: isHeld ? 'found' : 'missing', text: says }
    expect(leaseResult(spec, { process: 'manager', where: 'the Lease' }, NOW_MS)).toEqual(result)
  })

  const lease = (spec: LeaseSpec): object => ({ metadata: { name: 'x' }, spec })
  test.each<{ readonly name: string; readonly stored: object | null; readonly says: string }>([
    {
      name: 'holds its Lease',
      stored: lease({
        holderIdentity: 'delivery-a',
        leaseDurationSeconds: 15,
        renewTime: '2026-11-21T09:59:58.000000Z',
      }),
      says: 'delivery-a leads',
    },
    {
      name: 'holds none',
      stored: lease({}),
      says: 'no delivery process holds Lease management-operator-delivery in namespace p',
    },
    {
      name: 'never ran',
      stored: null,
      says: 'there is no Lease management-operator-delivery in namespace p: is a delivery process running, with --leader-elect?',
    },
  ])('a delivery process that $name (28.3)', async ({ stored, says }) => {
    const asked: unknown[] = []
    const get = (_: unknown, ref: unknown) => {
      asked.push(ref)
      return Promise.resolve(stored)
    }
    const client = { get } as unknown as KubeClient
    const { text, kind } = await checkDelivery(client, 'p', NOW_MS)
    expect({ text, kind }).toEqual({
      text: says,
      kind: says.endsWith('leads') ? 'found' : 'missing',
    })
    expect(asked).toEqual([{ name: 'management-operator-delivery', namespace: 'p' }])
  })
})

describe('the settings', () => {
  const config = (status: 'True' | 'False' | null, observedGeneration: number): Config => ({
    apiVersion: 'management.platform.sh/v1',
    kind: 'Config',
    metadata: { name: 'c', uid: 'u', resourceVersion: '1', generation: 2, creationTimestamp: '' },
    status: {
      observedGeneration,
      conditions:
        status === null
          ? []
          : [{ type: 'Ready', status, reason: 'R', message: 'why', lastTransitionTime: '' }],
    },
  })

  test.each<{
    readonly name: string
    readonly status: 'True' | 'False' | null
    readonly seen: number
    readonly says: string
  }>([
    { name: 'in force', status: 'True', seen: 2, says: 'Config c is in force' },
    { name: 'invalid', status: 'False', seen: 2, says: 'Config c is not ready: why' },
    { name: 'new', status: null, seen: -1, says: 'Config c is not ready: no manager has read it' },
    {
      name: 'changed, and not read since',
      status: 'True',
      seen: 1,
      says: 'no manager has read the last change of Config c',
    },
  ])('a Config that is $name', ({ status, seen, says }) => {
    expect(checkSettings(config(status, seen), 'c').text).toBe(says)
  })

  test('a Config that does not exist', () => {
    expect(checkSettings(null, 'c').text).toBe('there is no Config c: is a manager running?')
  })
})

test('each shipped right is one question, with its name and its namespace', () => {
  const lacks = shippedRights('platform-system').map(lackOf)
  expect(lacks).toContain('manager may not patch configs/status')
  expect(lacks).toContain(
    'manager may not update leases management-operator in namespace platform-system',
  )
  expect(lacks).toContain('gateway may not delegate ownedaccesskeys')
  expect(lacks).toContain('delivery may not patch accesskeyclaims/status')
  // What the owner of a namespace grants is not shipped.
  expect(lacks.filter((lack) => lack.startsWith('delivery') && lack.includes('secrets'))).toEqual([
    'delivery may not confine tokensecrets',
    'delivery may not list secrets platform-settings-delivery in namespace platform-system',
    'delivery may not watch secrets platform-settings-delivery in namespace platform-system',
  ])
  expect(new Set(lacks).size).toBe(lacks.length)
})
