import { describe, expect, test } from 'vitest'
import type { Json } from '../../../../src/domain/json/json.ts'
import type { HostPlace } from '../../../../src/sync/objects/host-name.ts'
import { TRANSLATORS } from '../../../../src/sync/kinds/translators.ts'
import { SEVERAL, SINGLE, cidrs, context, settings, virtual } from '../translation.ts'

const { endpoints } = TRANSLATORS

const address = (targetRef: Json | undefined): Json =>
  targetRef === undefined ? { ip: '10.0.0.1' } : { ip: '10.0.0.1', nodeName: 'n1', targetRef }

describe('Pods that addresses name (18.2)', () => {
  test.each<{ name: string; targetRef?: Json; host?: Json; place?: HostPlace }>([
    {
      name: 'a Pod has its host name, and no uid and version',
      targetRef: {
        kind: 'Pod',
        name: 'p',
        namespace: 'shop',
        uid: 'u',
        resourceVersion: '7',
        fieldPath: 'spec',
      },
      host: { kind: 'Pod', name: 'p-x-shop-x-vc', namespace: 'host', fieldPath: 'spec' },
    },
    {
      name: 'a Pod of another namespace',
      targetRef: { kind: 'Pod', name: 'p', namespace: 'other' },
      host: { kind: 'Pod', name: 'p-x-other-x-vc', namespace: 'host' },
    },
    {
      name: "a Pod without a namespace is in the object's own",
      targetRef: { kind: 'Pod', name: 'p' },
      host: { kind: 'Pod', name: 'p-x-shop-x-vc', namespace: 'host' },
    },
    {
      name: 'in multi-namespace mode the namespace alone changes',
      place: SEVERAL,
      targetRef: { kind: 'Pod', name: 'p', namespace: 'shop', uid: 'u' },
      host: { kind: 'Pod', name: 'p', namespace: 'host-shop' },
    },
    {
      name: 'a Pod without a name',
      targetRef: { kind: 'Pod', name: '', uid: 'u' },
      host: { kind: 'Pod', name: '', namespace: 'host' },
    },
    {
      name: 'another kind stays as it is',
      targetRef: { kind: 'Node', name: 'n', uid: 'u', resourceVersion: '7' },
      host: { kind: 'Node', name: 'n', uid: 'u', resourceVersion: '7' },
    },
    { name: 'no reference' },
    { name: 'a malformed reference stays as it is', targetRef: 'p', host: 'p' },
  ])('$name', ({ targetRef, host, place = SINGLE }) => {
    const subsets = (ref: Json | undefined): Json => [
      { ports: [{ port: 80 }] },
      { addresses: [address(undefined), address(ref)], ports: [{ port: 80 }] },
      { notReadyAddresses: [address(ref)] },
    ]
    const object = virtual({ subsets: subsets(targetRef) })
    expect(endpoints.toHost(object, context({ place }))).toEqual(
      virtual({ subsets: subsets(host) }),
    )
  })

  test.each<{ name: string; patched: string; host: Json }>([
    {
      name: 'a name that a reference patch translates',
      patched: '["subsets",0,"notReadyAddresses",1,"targetRef","name"]',
      host: { kind: 'Pod', name: 'p', namespace: 'host' },
    },
    {
      name: 'a namespace that a reference patch translates',
      patched: '["subsets",0,"notReadyAddresses",1,"targetRef","namespace"]',
      host: { kind: 'Pod', name: 'p-x-shop-x-vc', namespace: 'shop' },
    },
  ])('$name stays for it (19.5)', ({ patched, host }) => {
    const target = { kind: 'Pod', name: 'p', namespace: 'shop' }
    const object = virtual({ subsets: [{ notReadyAddresses: [address({}), address(target)] }] })
    const result = (kind: 'reference' | 'expression') =>
      endpoints.toHost(
        object,
        context({ patchKindAt: (path) => (JSON.stringify(path) === patched ? kind : null) }),
      )
    expect(result('reference')['subsets']).toEqual([
      { notReadyAddresses: [address({}), address(host)] },
    ])
    // An expression acts on what the default translation makes.
    expect(result('expression')['subsets']).toEqual([
      {
        notReadyAddresses: [
          address({}),
          address({ kind: 'Pod', name: 'p-x-shop-x-vc', namespace: 'host' }),
        ],
      },
    ])
  })

  test.each<{ name: string; fields: Record<string, Json> }>([
    { name: 'no subsets', fields: {} },
    { name: 'empty subsets', fields: { subsets: [] } },
    { name: 'null', fields: { subsets: null } },
    { name: 'malformed', fields: { subsets: [5, { addresses: 'x', notReadyAddresses: [7] }] } },
  ])('$name: as they are (18.2)', ({ fields }) => {
    expect(endpoints.toHost(virtual(fields), context())).toEqual(virtual(fields))
  })
})

describe('refused addresses (18.2)', () => {
  const checked = (subsets: Json, denied: readonly string[] = []) => {
    const object = virtual({ subsets })
    const { object: allowed, refusals } = endpoints.check(
      object,
      settings({ denied: cidrs(...denied) }),
      context(),
    )
    // All or nothing.
    expect(allowed).toBe(refusals.length === 0 ? object : null)
    return refusals
  }

  test.each<{ name: string; subsets: Json; denied?: readonly string[]; refusals: string[] }>([
    {
      name: 'addresses that may be written',
      subsets: [{ addresses: [{ ip: '10.0.0.1' }], notReadyAddresses: [{ ip: 'fd00::1' }] }],
      refusals: [],
    },
    { name: 'no subsets', subsets: [], refusals: [] },
    { name: 'null', subsets: null, refusals: [] },
    { name: 'null addresses', subsets: [{ addresses: null }], refusals: [] },
    {
      name: 'each of them, with its place',
      subsets: [
        { addresses: [{ ip: '10.0.0.1' }, { ip: '169.254.169.254' }] },
        { notReadyAddresses: [{ ip: '::ffff:127.0.0.1' }], addresses: [{ ip: '192.0.2.1' }] },
      ],
      denied: ['192.0.2.0/24'],
      refusals: [
        'subsets[0].addresses[1].ip 169.254.169.254 is a metadata address',
        'subsets[1].addresses[0].ip 192.0.2.1 is in the denied range 192.0.2.0/24',
        'subsets[1].notReadyAddresses[0].ip ::ffff:127.0.0.1 is a loopback address',
      ],
    },
    {
      name: 'a value that is not an address',
      subsets: [{ addresses: [{ ip: 5 }, { hostname: 'a' }, '10.0.0.1', null] }],
      refusals: [0, 1, 2, 3].map((at) => `subsets[0].addresses[${at}].ip must be an IP address`),
    },
    {
      name: 'a value that is not a list',
      subsets: [{ addresses: { ip: '10.0.0.1' } }, 'x', { notReadyAddresses: '10.0.0.1' }],
      refusals: [
        'subsets[0].addresses must be a list',
        'subsets[1] must be an object',
        'subsets[2].notReadyAddresses must be a list',
      ],
    },
    { name: 'subsets that are none', subsets: {}, refusals: ['subsets must be a list'] },
  ])('$name', ({ subsets, denied, refusals }) => {
    expect(checked(subsets, denied)).toEqual(refusals)
  })
})

test('nothing flows back, and the host object has no values of its own (18.5)', () => {
  const [mine, host] = [virtual({ subsets: [] }), virtual({ subsets: [{ addresses: [] }] })]
  expect(endpoints.toVirtual(mine, host)).toBe(mine)
  expect(endpoints.withHostValues(mine, host)).toBe(mine)
  expect(endpoints.needsRecreation(mine, host)).toBe(false)
})
