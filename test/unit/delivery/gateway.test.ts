import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Config } from '../../../src/api/config.gen.ts'
import type { ConfigMap, KubeObject } from '../../../src/api/objects.ts'
import { followGateway } from '../../../src/delivery/gateway.ts'
import { Store, type FullObject, fullObject } from '../../../src/kube/informer/store.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { configObject } from '../../support/object-builder.ts'

const PEM = (body: string): string =>
  `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`

const configMap = (
  name: string,
  data: ConfigMap['data'],
  resourceVersion: string,
): KubeObject & Pick<ConfigMap, 'data'> => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name,
    namespace: 'platform-system',
    uid: `uid-${name}`,
    resourceVersion,
    creationTimestamp: '',
  },
  ...(data ? { data } : {}),
})

/** The address, followed from stores that a test fills. */
function followed({
  url = null,
  caFile = null,
}: {
  readonly url?: string | null
  readonly caFile?: string | null
} = {}) {
  const configs = new Store((object) => fullObject<Config>(object))
  const configMaps = new Store((object) => fullObject<ConfigMap>(object))
  const authorities: Store<FullObject<ConfigMap>> = new Store((object) =>
    fullObject<ConfigMap>(object),
  )
  const ending = new AbortController()
  onTestFinished(() => ending.abort())
  const clock = manualClock(0)
  const settings = {
    configs,
    configMaps,
    configName: 'platform-manager-config',
    namespace: 'platform-system',
  }
  const gateway = followGateway({
    settings,
    url,
    caFile,
    authorities,
    clock,
    signal: ending.signal,
  })
  let changes = 0
  gateway.subscribe(() => {
    changes += 1
  })
  for (const store of [configs, configMaps, authorities]) {
    store.begin()
    store.end()
  }
  let version = 1
  return {
    clock,
    gateway,
    changes: () => changes,
    setHost: (platformHost: string | undefined) => {
      version += 1
      const data = { config: JSON.stringify(platformHost === undefined ? {} : { platformHost }) }
      configMaps.put(configMap('platform-config-in-force', data, String(version)))
      configs.put(
        configObject({
          metadata: { resourceVersion: String(version) },
          status: platformHost === undefined ? {} : { platformHost },
        }),
      )
    },
    setAuthority: (pem: string | undefined, name = 'platform-gateway-ca') => {
      version += 1
      authorities.put(
        configMap(name, pem === undefined ? undefined : { 'ca.crt': pem }, String(version)),
      )
    },
    removeAuthority: () => {
      const found = authorities.get('platform-gateway-ca', 'platform-system')
      if (found) authorities.remove(found.object)
    },
  }
}

describe('where the gateway is (28.4)', () => {
  test('it is unknown without platformHost', () => {
    expect(followed().gateway.server('management')).toBeNull()
  })

  test('it is at platformHost, which may change, and a host that is gone keeps the last', () => {
    const { gateway, setHost, changes } = followed()
    setHost('platform.example.com')
    expect(gateway.server('cluster/blue')).toEqual({
      url: 'https://platform.example.com/kubernetes/cluster/blue',
      ca: null,
    })
    const seen = changes()
    setHost('platform.example.com')
    expect(changes()).toBe(seen)
    setHost('other.example.com')
    expect(changes()).toBeGreaterThan(seen)
    setHost(undefined)
    expect(gateway.server('management')?.url).toBe(
      'https://other.example.com/kubernetes/management',
    )
  })

  test('it is at --gateway-url, whatever platformHost is', () => {
    const { gateway, setHost, changes } = followed({ url: 'https://gw.example.com:8443' })
    setHost('platform.example.com')
    expect(gateway.server('management')?.url).toBe(
      'https://gw.example.com:8443/kubernetes/management',
    )
    expect(changes()).toBe(0)
  })
})

describe('the authority of its certificate (28.4)', () => {
  test('is in the ConfigMap that the gateway publishes; one that is missing keeps the last', () => {
    const { gateway, setAuthority, removeAuthority, changes } = followed({ url: 'https://gw' })
    setAuthority(PEM('a'), 'other')
    expect(gateway.server('management')?.ca).toBeNull()
    setAuthority(PEM('a'))
    expect(gateway.server('management')?.ca).toBe(PEM('a'))
    expect(changes()).toBe(1)
    setAuthority(PEM('a'))
    setAuthority('')
    setAuthority(undefined)
    removeAuthority()
    expect(gateway.server('management')?.ca).toBe(PEM('a'))
    expect(changes()).toBe(1)
    setAuthority(PEM('b'))
    expect(gateway.server('management')?.ca).toBe(PEM('b'))
    expect(changes()).toBe(2)
  })

  test('is in --gateway-ca-file, read again when it changes; a file that is gone or empty keeps the last', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'unit-gateway-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const caFile = join(folder, 'ca.crt')
    writeFileSync(caFile, PEM('a'))
    const { gateway, clock, setAuthority, changes } = followed({ url: 'https://gw', caFile })
    setAuthority(PEM('of the ConfigMap'))
    expect(gateway.server('management')?.ca).toBe(PEM('a'))
    writeFileSync(caFile, PEM('b'))
    await clock.advance(2000)
    expect(gateway.server('management')?.ca).toBe(PEM('b'))
    writeFileSync(caFile, '')
    await clock.advance(2000)
    rmSync(caFile)
    await clock.advance(2000)
    expect(gateway.server('management')?.ca).toBe(PEM('b'))
    expect(changes()).toBe(1)
  })
})
