import { describe, expect, test } from 'vitest'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { isOwnContent, planEnd } from '../../../../src/sync/namespaces/end-plan.ts'

describe('what is left in a host namespace', () => {
  const object = (kind: string, metadata: JsonMap = { name: 'x' }) => {
    const [plural = '', ...group] = kind.split('.')
    return { plural, group: group.join('.'), metadata }
  }
  const labelled = (key: string, value: string): JsonMap => ({
    name: 'x',
    labels: { [key]: value },
  })
  const SLICES = 'endpointslice.kubernetes.io/managed-by'
  const ENDPOINTS = 'endpoints.kubernetes.io/managed-by'

  test.each([
    { name: 'an Event', given: object('events') },
    { name: 'an Event of the newer group', given: object('events.events.k8s.io') },
    { name: 'the default account', given: object('serviceaccounts', { name: 'default' }) },
    {
      name: "the cluster's certificate",
      given: object('configmaps', { name: 'kube-root-ca.crt' }),
    },
    {
      name: 'a slice of a Service',
      given: object(
        'endpointslices.discovery.k8s.io',
        labelled(SLICES, 'endpointslice-controller.k8s.io'),
      ),
    },
    {
      name: 'a slice of Endpoints',
      given: object(
        'endpointslices.discovery.k8s.io',
        labelled(SLICES, 'endpointslicemirroring-controller.k8s.io'),
      ),
    },
    {
      name: 'Endpoints of a Service',
      given: object('endpoints', labelled(ENDPOINTS, 'endpoint-controller')),
    },
  ])('$name holds up nothing (17.5)', ({ given }) => {
    expect(isOwnContent(given)).toBe(true)
  })

  test.each([
    { name: 'a Pod', given: object('pods') },
    { name: 'a Secret', given: object('secrets', { name: 'default' }) },
    { name: 'another account', given: object('serviceaccounts') },
    { name: 'another ConfigMap', given: object('configmaps') },
    { name: 'a slice of a user', given: object('endpointslices.discovery.k8s.io') },
    {
      name: 'a slice of a controller that is not the host',
      given: object('endpointslices.discovery.k8s.io', labelled(SLICES, 'mine')),
    },
    { name: 'Endpoints of a user', given: object('endpoints') },
    { name: 'another kind of that name', given: object('events.example.com') },
    {
      name: 'accounts of another group',
      given: object('serviceaccounts.x.io', { name: 'default' }),
    },
  ])('$name is foreign (17.5)', ({ given }) => {
    expect(isOwnContent(given)).toBe(false)
  })

  test.each([
    { name: 'not made', rest: null, step: 'unmark', because: 'the syncer has not made it' },
    {
      name: 'not empty',
      rest: { kind: 'objects', content: 'pods web' } as const,
      step: 'keep',
      because: 'it has pods web',
    },
    {
      name: 'not readable',
      rest: { kind: 'unknown', content: 'pods, jobs.batch' } as const,
      step: 'keep',
      because: 'not all that it has can be read: pods, jobs.batch',
    },
  ])('the Event of one that stays says why: $name (17.5)', ({ rest, step, because }) => {
    expect(planEnd('vc-x-a', rest)).toEqual({
      step,
      note: `The objects of this namespace are deleted from namespace vc-x-a of the host, which stays: ${because}.`,
    })
  })

  test('a namespace that the syncer made is deleted once nothing is left in it (17.5)', () => {
    expect(planEnd('vc-x-a', { kind: 'nothing' })).toEqual({ step: 'delete' })
  })
})
