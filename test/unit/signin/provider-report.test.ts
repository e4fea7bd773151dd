import { describe, expect, it, onTestFinished } from 'vitest'
import { SIGN_IN_STATUS_CONFIG_MAP } from '../../../src/api/names.ts'
import { matchesAny } from '../../../src/domain/settings/formats.ts'
import { reportProviders } from '../../../src/signin/provider-report.ts'
import { providerStatus } from '../../../src/signin/provider-summary.ts'
import type { ProviderHealth } from '../../../src/signin/providers/provider.ts'
import type { SignInState } from '../../../src/signin/settings.ts'
import { refused } from '../../support/fake-kube-client.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { memoryLog } from '../../support/memory-log.ts'
import { MemoryCluster } from '../../support/signin/memory-cluster.ts'
import { fakeProvider, identityOf } from '../../support/signin/world.ts'

const WORKS: ProviderHealth = { fault: null, warnings: [] }
const OIDC = { auth: { oidc: { issuerUrl: 'https://provider.example' } } }
const PLACE = { publicUrl: 'https://platform.example', groupFilter: matchesAny([]) }

const CONNECTORS = { auth: { connectors: [{ id: 'staff', saml: {} }] } }
const NO_ADDRESS = 'platformHost is not set, so no way to sign in is offered.'

describe('the state of the providers (27.1)', () => {
  it.each([
    ['nothing is set up', { ...PLACE, settings: {} }, [], null],
    ['all work', { ...PLACE, settings: OIDC }, [['oidc', WORKS]], { isReady: true, message: '' }],
    [
      'connectors alone are set up, and work',
      { ...PLACE, settings: CONNECTORS },
      [['staff', WORKS]],
      { isReady: true, message: '' },
    ],
    [
      'connectors alone are set up, and one does not work',
      { ...PLACE, settings: CONNECTORS },
      [['staff', { fault: 'its server is away', warnings: [] }]],
      { isReady: false, message: 'staff: its server is away.' },
    ],
    [
      'SAML alone is set up, and works',
      { ...PLACE, settings: { auth: { saml: {} } } },
      [['saml', WORKS]],
      { isReady: true, message: '' },
    ],
    [
      'connectors alone are set up, without passwords, and the platform has no address',
      {
        ...PLACE,
        publicUrl: null,
        settings: { auth: { ...CONNECTORS.auth, password: { disabled: true } } },
      },
      [],
      { isReady: false, message: NO_ADDRESS },
    ],
    [
      'one does not work, and another is insecure',
      { ...PLACE, settings: OIDC },
      [
        ['oidc', { fault: 'discovery does not answer', warnings: [] }],
        ['saml', { fault: null, warnings: ['admits everybody', 'certificates are not validated'] }],
      ],
      {
        isReady: false,
        message:
          'oidc: discovery does not answer. saml: admits everybody. saml: certificates are not validated.',
      },
    ],
    [
      'the platform has no address',
      { ...PLACE, publicUrl: null, settings: OIDC },
      [],
      { isReady: false, message: NO_ADDRESS },
    ],
    [
      'the platform has no address, and passwords alone are on',
      { ...PLACE, publicUrl: null, settings: {} },
      [],
      { isReady: false, message: NO_ADDRESS },
    ],
    [
      'the platform has no address, and nothing is meant to be set up',
      { ...PLACE, publicUrl: null, settings: { auth: { password: { disabled: true } } } },
      [],
      null,
    ],
    [
      'a filter is unusable',
      { ...PLACE, groupFilter: null, settings: OIDC },
      [['oidc', WORKS]],
      {
        isReady: false,
        message: 'auth.groupsFilters: a regular expression is unusable, so no provider works.',
      },
    ],
    [
      'headers are ignored, also where people have passwords alone',
      {
        ...PLACE,
        settings: { auth: { customHttpHeaders: { 'set-cookie': 'a', Location: 'b', 'X-A': 'c' } } },
      },
      [],
      { isReady: true, message: 'auth.customHttpHeaders: ignored are Location, set-cookie.' },
    ],
  ] as const)('says so where %s', (_, state, healths, status) => {
    expect(providerStatus(state, new Map(healths), [])).toEqual(status)
  })

  it.each([
    ['apps work', [], { isReady: true, message: '' }],
    [
      'an app does not work (26.2)',
      ['Secret grafana: redirectURIs is empty.'],
      { isReady: false, message: 'Secret grafana: redirectURIs is empty.' },
    ],
  ])('says so where %s', (_, faults, status) => {
    const state = { ...PLACE, settings: { oidc: { enabled: true } } }
    expect(providerStatus(state, new Map(), faults)).toEqual(status)
  })
})

function reporter(health: () => ProviderHealth = () => WORKS) {
  const cluster = new MemoryCluster()
  const clock = manualClock(0)
  const { log, lines } = memoryLog()
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const provider = { ...fakeProvider('oidc', identityOf), check: () => Promise.resolve(health()) }
  const state: SignInState = {
    ...PLACE,
    settings: OIDC,
    providers: new Map([['oidc', provider]]),
    hasPasswords: true,
    legal: null,
  }
  const listeners: (() => void)[] = []
  const settings = {
    current: () => state,
    subscribe: (listener: (state: SignInState) => void) =>
      void listeners.push(() => listener(state)),
  }
  const { client } = cluster
  const apps = { faults: [] as string[], changed: () => undefined as void }
  const clients = {
    current: () => ({ working: new Map(), faults: apps.faults }),
    subscribe: (listener: () => void) => {
      apps.changed = listener
    },
  }
  const { signal } = stop
  void reportProviders({ client, namespace: 'sign-in', settings, clients, clock, log, signal })
  const stored = () => cluster.object('ConfigMap', SIGN_IN_STATUS_CONFIG_MAP)
  return { apps, cluster, clock, lines, stored, changed: () => listeners.forEach((tell) => tell()) }
}

const READY = { data: { status: '{"ready":true,"message":""}' } }

describe('the report of the providers (27.1)', () => {
  it('names an app that does not work as soon as its Secret changes (26.2)', async () => {
    const { apps, clock, stored } = reporter()
    await clock.advance(1000)
    expect(stored()).toMatchObject(READY)
    apps.faults.push('Secret grafana: redirectURIs is empty.')
    apps.changed()
    await clock.advance(1000)
    expect(stored()).toMatchObject({
      data: { status: '{"ready":false,"message":"Secret grafana: redirectURIs is empty."}' },
    })
  })

  it('is written when something differs, and read every minute', async () => {
    let fault: string | null = null
    const { cluster, clock, stored } = reporter(() => ({ fault, warnings: [] }))
    await clock.advance(0)
    expect(stored()).toMatchObject(READY)
    await clock.advance(180_000)
    const verbs = () => cluster.calls.map((call) => call.split(' ')[0])
    expect(verbs()).toEqual(['get', 'create', 'get', 'get', 'get'])
    fault = 'away'
    await clock.advance(60_000)
    expect(stored()).toMatchObject({ data: { status: '{"ready":false,"message":"oidc: away."}' } })
    expect(verbs().slice(5)).toEqual(['get', 'replace'])
  })

  it('follows a change of the settings within a second', async () => {
    let fault: string | null = null
    const { clock, stored, changed } = reporter(() => ({ fault, warnings: [] }))
    await clock.advance(10_000)
    fault = 'away'
    changed()
    await clock.advance(200)
    expect(stored()).toMatchObject({ data: { status: expect.stringContaining('away') as string } })
  })

  it('is tried again soon where it cannot be stored', async () => {
    const { cluster, clock, stored, lines } = reporter()
    cluster.before = () => {
      throw refused(503, 'ServiceUnavailable')
    }
    await clock.advance(12_000)
    expect(lines.filter(({ level }) => level === 'warn')).toHaveLength(3)
    cluster.before = () => undefined
    await clock.advance(3000)
    expect(stored()).toMatchObject(READY)
  })
})
