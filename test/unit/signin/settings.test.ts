import { describe, expect, it } from 'vitest'
import { SIGN_IN_SETTINGS_SECRET } from '../../../src/api/names.ts'
import type { Secret } from '../../../src/api/objects.ts'
import { fullObject, Store } from '../../../src/kube/informer/store.ts'
import { followSignInSettings, type SignInState } from '../../../src/signin/settings.ts'
import { memoryLog } from '../../support/memory-log.ts'
import { MemoryCluster } from '../../support/signin/memory-cluster.ts'
import { fakeProvider, identityOf } from '../../support/signin/world.ts'

const NAMESPACE = 'platform-sign-in'

function followed(publicUrl: string | null = null) {
  const cluster = new MemoryCluster()
  const secrets = new Store(fullObject<Secret>)
  const { log, lines } = memoryLog()
  const seen: SignInState[] = []
  const settings = followSignInSettings({
    secrets,
    namespace: NAMESPACE,
    publicUrl,
    createProviders: ({ settings: { auth } }) =>
      auth?.oidc === undefined ? [] : [fakeProvider('oidc', identityOf)],
    log,
  })
  settings.subscribe((state) => void seen.push(state))
  const put = (text: string, name = SIGN_IN_SETTINGS_SECRET, namespace = NAMESPACE): void =>
    void cluster.put({
      kind: 'Secret',
      metadata: { name, namespace },
      data: { config: Buffer.from(text).toString('base64') },
    } as never)
  cluster.feed('Secret', secrets)
  return { cluster, settings, seen, put, lines }
}

const OIDC = {
  platformHost: 'platform.example',
  auth: { oidc: { issuerUrl: 'https://a.example' } },
}

describe('the settings of signing in (25.8)', () => {
  it('are none before the Secret is seen', () => {
    expect(followed().settings.current()).toBeNull()
  })

  it('are in force at once, each time that they change', () => {
    const { settings, seen, put } = followed()
    put(JSON.stringify(OIDC))
    expect([...(settings.current()?.providers.keys() ?? [])]).toEqual(['oidc'])
    put('{"platformHost":"platform.example"}')
    expect([...(settings.current()?.providers.keys() ?? [])]).toEqual([])
    put('{"platformHost":"platform.example"}')
    expect(seen).toHaveLength(2)
  })

  it.each(['', '{', '[]', 'null', '"text"', '7', '{"auth":7,"uiSettings":{"legalTemplate":7}}'])(
    'stay as they were where the Secret has %j',
    (text) => {
      const { settings, put, lines } = followed()
      put(JSON.stringify(OIDC))
      const before = settings.current()
      put(text)
      expect(settings.current()).toBe(before)
      expect(lines.at(-1)).toMatchObject({
        level: 'error',
        sentence: expect.stringContaining('stay') as string,
      })
    },
  )

  it('stay as they were where the Secret is deleted, and are seen when it comes back', () => {
    const { cluster, settings, seen, put } = followed()
    put(JSON.stringify(OIDC))
    const before = settings.current()
    cluster.remove('Secret', SIGN_IN_SETTINGS_SECRET)
    expect(settings.current()).toBe(before)
    put('{}')
    expect(seen).toHaveLength(2)
  })

  it('are of the one Secret of the namespace', () => {
    const { settings, put } = followed()
    put(JSON.stringify(OIDC), 'other')
    put(JSON.stringify(OIDC), SIGN_IN_SETTINGS_SECRET, 'other')
    expect(settings.current()).toBeNull()
  })

  it.each([
    [null, OIDC, 'https://platform.example', 1, true],
    ['https://flag.example', OIDC, 'https://flag.example', 1, true],
    [null, { auth: OIDC.auth }, null, 0, false],
    ['https://flag.example', { auth: OIDC.auth }, 'https://flag.example', 1, true],
  ])(
    'offer nothing without an address of the platform (25.1)',
    (flag, settings, url, count, passwords) => {
      const world = followed(flag)
      world.put(JSON.stringify(settings))
      const state = world.settings.current()
      expect(state?.publicUrl).toBe(url)
      expect(state?.providers.size).toBe(count)
      expect(state?.hasPasswords).toBe(passwords)
    },
  )

  it.each([
    [{}, true],
    [{ password: {} }, true],
    [{ password: { disabled: false } }, true],
    [{ password: { disabled: true } }, false],
  ])('offer passwords by %j: %s', (auth, has) => {
    const { settings, put } = followed('https://platform.example')
    put(JSON.stringify({ auth }))
    expect(settings.current()?.hasPasswords).toBe(has)
  })

  it('open nothing by a filter that is unusable', () => {
    const { settings, put } = followed()
    put(JSON.stringify({ auth: { groupsFilters: ['dev', '(?<a>'] } }))
    expect(settings.current()?.groupFilter).toBeNull()
    put(JSON.stringify({ auth: { groupsFilters: ['dev'] } }))
    expect(settings.current()?.groupFilter?.('my-dev-team')).toBe(true)
  })
})
