import { describe, expect, test } from 'vitest'
import { type HostPlace, hostDns, hostNameOf } from '../../../../src/sync/objects/host-name.ts'
import { hostSelector } from '../../../../src/sync/objects/selectors.ts'

/** The key on the host, as the first of a translated selector. */
const hostLabelKey = (key: string, virtualCluster: string): string =>
  Object.keys(hostSelector({ [key]: 'x' }, { virtualCluster, namespace: 'shop' }) as object)[0] ??
  ''

const single: HostPlace = { virtualCluster: 'vc', hostNamespace: 'host', namespaces: null }
const several = (...mappings: readonly (readonly [string, string])[]): HostPlace => ({
  ...single,
  namespaces: mappings,
})

describe('host names (17.1)', () => {
  test.each([
    { name: 'web', namespace: 'shop', host: 'web-x-shop-x-vc' },
    { name: 'a', namespace: 'b-x-c', host: 'a-x-b-x-c-x-vc' },
    // 63 characters stay, 64 do not.
    { name: 'n'.repeat(51), namespace: 'sho', host: `${'n'.repeat(51)}-x-sho-x-vc` },
    {
      name: 'n'.repeat(52),
      namespace: 'shop',
      // The first digits of sha256sum over the whole name.
      host: `${'n'.repeat(52)}-85fd7b2f72`,
    },
    { name: `${'n'.repeat(51)}.tail`, namespace: 'shop', host: `${'n'.repeat(51)}-7d91b6643d` },
  ])('$name in $namespace', ({ name, namespace, host }) => {
    expect(hostNameOf({ name, namespace }, single)).toEqual({ name: host, namespace: 'host' })
  })

  test('no host name is longer than the name of a Service may be', () => {
    for (let length = 1; length <= 253; length += 1) {
      const { name } = hostNameOf({ name: 'n'.repeat(length), namespace: 'n'.repeat(63) }, single)
      expect(name.length).toBeLessThanOrEqual(63)
    }
  })
})

describe('host namespaces of multi-namespace mode (17.5)', () => {
  test.each([
    { place: several(), namespace: 'shop', host: 'vc-x-shop' },
    { place: several(['shop', 'our-shop']), namespace: 'shop', host: 'our-shop' },
    { place: several(['*', 'all-*'], ['shop', 'our-shop']), namespace: 'shop', host: 'our-shop' },
    { place: several(['*', 'all-*'], ['team-*', 't-*']), namespace: 'team-a', host: 't-a' },
    { place: several(['*-dev', '*-d']), namespace: 'a-dev', host: 'a-d' },
    { place: several(['a*a', 'x*x']), namespace: 'a', host: 'vc-x-a' },
    { place: several(['*', '$&*']), namespace: 'a', host: '$&a' },
  ])('$namespace is $host', ({ place, namespace, host }) => {
    expect(hostNameOf({ name: 'web', namespace }, place)).toEqual({ name: 'web', namespace: host })
  })
})

describe('virtualToHostDNS (19.4)', () => {
  test.each([
    { dns: 'web.shop.svc', host: 'web-x-shop-x-vc.host.svc.cluster.local' },
    { dns: 'web.shop.svc.example.org', host: 'web-x-shop-x-vc.host.svc.example.org' },
    { dns: 'web.shop.svc.cluster.local.', host: 'web-x-shop-x-vc.host.svc.cluster.local' },
  ])('$dns', ({ dns, host }) => {
    expect(hostDns(dns, single)).toBe(host)
  })

  test.each([
    '',
    'web',
    'web.shop',
    'web.shop.pod',
    'a.web.shop.svc',
    'Web.shop.svc',
    'web.shop.svc..',
    '-a.b.svc',
    `${'a.'.repeat(200)}svc`,
  ])('%j is refused', (dns) => {
    expect(() => hostDns(dns, single)).toThrow('<name>.<namespace>.svc[.<cluster domain>]')
  })

  test('in multi-namespace mode the namespace alone changes', () => {
    expect(hostDns('web.shop.svc', several(['shop', 's']))).toBe('web.s.svc.cluster.local')
  })
})

describe('labels and selectors on the host (17.3, 19.5)', () => {
  test('keys that mean something on the host get another', () => {
    const digests = [
      'release',
      'vcluster.platform.sh/namespace',
      'vcluster.platform.sh/managed-by',
      'vcluster.platform.sh/controlled-by',
    ].map((key) => hostLabelKey(key, 'vc'))
    for (const key of digests)
      expect(key).toMatch(/^vcluster\.platform\.sh\/label-vc-x-[0-9a-f]{10}$/)
    expect(new Set(digests).size).toBe(4)
    expect(hostLabelKey('release', 'vc')).toBe('vcluster.platform.sh/label-vc-x-a4d451ec23')
    expect(hostLabelKey('app', 'vc')).toBe('app')
  })

  const place = { virtualCluster: 'vc', namespace: 'shop' }
  const marks = {
    'vcluster.platform.sh/managed-by': 'vc',
    'vcluster.platform.sh/namespace': 'shop',
  }
  test.each<{ name: string; selector: unknown; host: unknown }>([
    { name: 'a map', selector: { app: 'web' }, host: { app: 'web', ...marks } },
    {
      name: 'a LabelSelector',
      selector: {
        matchLabels: { app: 'web' },
        matchExpressions: [{ key: 'vcluster.platform.sh/namespace', operator: 'Exists' }],
      },
      host: {
        matchLabels: { app: 'web', ...marks },
        matchExpressions: [
          { key: hostLabelKey('vcluster.platform.sh/namespace', 'vc'), operator: 'Exists' },
        ],
      },
    },
    {
      name: 'a LabelSelector of expressions',
      selector: { matchExpressions: [] },
      host: { matchLabels: marks, matchExpressions: [] },
    },
    {
      name: 'a map that names marks of another',
      selector: { 'vcluster.platform.sh/managed-by': 'other' },
      host: { [hostLabelKey('vcluster.platform.sh/managed-by', 'vc')]: 'other', ...marks },
    },
    { name: 'an empty map', selector: {}, host: {} },
    { name: 'a text', selector: 'app=web', host: 'app=web' },
  ])('$name', ({ selector, host }) => {
    expect(hostSelector(selector as never, place)).toEqual(host)
  })
})
