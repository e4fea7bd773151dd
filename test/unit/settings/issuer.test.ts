import { describe, expect, test } from 'vitest'
import type { Config } from '../../../src/api/config.gen.ts'
import { CONFIG_MAPS, IN_FORCE_CONFIG_MAP } from '../../../src/api/names.ts'
import type { ConfigMap, KubeObject } from '../../../src/api/objects.ts'
import { Store, fullObject } from '../../../src/kube/informer/store.ts'
import { type FollowedIssuer, followIssuer } from '../../../src/settings/issuer.ts'
import { memoryLog } from '../../support/memory-log.ts'
import { configObject } from '../../support/object-builder.ts'

const HOST = 'platform.example.com'
const ISSUER = `https://${HOST}/oidc`

/** The issuer over these stores. */
function followed(flag: string | null = null) {
  const configs = new Store(fullObject<Config>)
  const configMaps = new Store(fullObject<ConfigMap>)
  const { log, lines } = memoryLog()
  const issuer = followIssuer({
    flag,
    configs,
    configMaps,
    configName: 'platform-manager-config',
    namespace: 'platform-system',
    log,
  })
  let version = 1
  const put = (settings: object): void => {
    version += 1
    configMaps.put(record(JSON.stringify(settings), version))
  }
  const sync = (): void => {
    for (const store of [configs, configMaps]) {
      store.begin()
      store.end()
    }
  }
  return { configs, configMaps, issuer, lines, put, sync }
}

const record = (config: string, version: number): KubeObject & { data: object } => ({
  apiVersion: 'v1',
  kind: CONFIG_MAPS.kind,
  metadata: {
    name: IN_FORCE_CONFIG_MAP,
    namespace: 'platform-system',
    uid: 'r',
    resourceVersion: String(version),
    creationTimestamp: '2026-11-21T10:00:00Z',
  },
  data: { config },
})

const both = (issuer: FollowedIssuer) => [issuer.current(), issuer.next()]

describe('the issuer of tokens (contract 7.2)', () => {
  test('is the flag, with any settings and before they are known', () => {
    const { issuer, sync, put } = followed('https://tokens.example.com')
    expect(both(issuer)).toEqual(['https://tokens.example.com', null])
    sync()
    put({ platformHost: HOST })
    put({ platformHost: 'other.example.com' })
    expect(both(issuer)).toEqual(['https://tokens.example.com', null])
  })

  test('is unknown until settings name a host', () => {
    const { issuer, sync, put } = followed()
    expect(both(issuer)).toEqual([null, null])
    sync()
    put({})
    put({ platformHost: '' })
    expect(both(issuer)).toEqual([null, null])
    put({ platformHost: HOST })
    expect(both(issuer)).toEqual([ISSUER, null])
  })

  test('comes from a settled status without a record', () => {
    const { issuer, configs, sync } = followed()
    sync()
    const conditions = [{ type: 'Ready', status: 'True', reason: 'Applied' }]
    const status = { observedGeneration: 1, conditions, platformHost: HOST }
    configs.put(configObject({ status: status as unknown as NonNullable<Config['status']> }))
    expect(both(issuer)).toEqual([ISSUER, null])
  })

  test('stays for the life of the process; a changed host is only reported as the next one', () => {
    const { issuer, sync, put, lines } = followed()
    sync()
    put({ platformHost: HOST })
    put({ platformHost: 'other.example.com' })
    expect(both(issuer)).toEqual([ISSUER, 'https://other.example.com/oidc'])
    put({ platformHost: HOST })
    expect(both(issuer)).toEqual([ISSUER, null])
    expect(lines.map(({ level, sentence }) => `${level}: ${sentence}`)).toEqual([
      'info: issuer of tokens, from platformHost',
      'warn: platformHost has changed, the next start uses it',
    ])
  })

  test.each([
    { name: 'a removed host', settings: {} },
    { name: 'a malformed host', settings: { platformHost: 'a b' } },
    { name: 'a host that is not a text', settings: { platformHost: 3 } },
  ])('$name changes nothing', ({ settings }) => {
    const { issuer, sync, put } = followed()
    sync()
    put({ platformHost: HOST })
    put(settings)
    expect(both(issuer)).toEqual([ISSUER, null])
  })

  test('a malformed record changes nothing', () => {
    const { issuer, sync, put, configMaps } = followed()
    sync()
    put({ platformHost: HOST })
    configMaps.put(record('{', 99))
    expect(both(issuer)).toEqual([ISSUER, null])
  })

  test('a subscriber is called at each change, and at once when there is an issuer', () => {
    const { issuer, sync, put } = followed()
    const early: unknown[] = []
    const late: unknown[] = []
    issuer.subscribe(() => early.push(both(issuer)))
    expect(early).toEqual([])
    sync()
    put({ platformHost: HOST })
    issuer.subscribe(() => late.push(both(issuer)))
    put({ platformHost: HOST, projectNamespacePrefix: 'q-' })
    put({ platformHost: 'other.example.com' })
    const changed = [ISSUER, 'https://other.example.com/oidc']
    expect(early).toEqual([[ISSUER, null], changed])
    expect(late).toEqual([[ISSUER, null], changed])
  })
})
