// The Secret with the token of the secret store, as the reconciler of the Config reads it (contract 36.1).
import { describe, expect, test } from 'vitest'
import { type ConfigDeps, reconcile } from '../../../../src/controllers/config/reconcile.ts'
import { settingsSecrets } from '../../../../src/controllers/config/settings-secrets.ts'
import { deliverySettingsIn } from '../../../../src/domain/settings/secret-settings.ts'
import { NoResponseError, StatusError } from '../../../../src/kube/client/api-error.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { reconcileContext } from '../../../support/reconcile-context.ts'
import { initialState, NOW_MS, stepsOf, withSpec } from './plan-builder.ts'

const CANARY = 'hvs.canary-0123456789'
const NAMESPACES = { namespace: 'platform-system', signInNamespace: 'platform-system-sign-in' }

const denied = (): Error =>
  new StatusError({
    code: 403,
    reason: 'Forbidden',
    message: 'GET secrets/vault-token: 403 Forbidden',
    retryAfterMs: null,
    isTestFailed: false,
  })

/** A reconciler of a Config whose token is in that Secret, with everything else settled. */
function follower(name = 'vault-token') {
  const spec = { secretStore: { enabled: true, auth: { tokenSecretRef: { name } } } }
  const ref = { name, key: 'token' }
  const storeToken = { ref, reading: null, readMs: NOW_MS }
  const { config, record } = stepsOf(initialState({ config: withSpec(spec), storeToken })).end
  const clock = manualClock(NOW_MS)
  const { log, lines } = memoryLog()
  const asked: unknown[] = []
  let answer: () => Promise<unknown> = () => Promise.resolve(null)
  let text: string | null = null
  const write = async (object: { readonly data: Readonly<Record<string, string>> }) => {
    text = Buffer.from(object.data['config'] ?? '', 'base64').toString()
  }
  const found = () => (text === null ? undefined : { object: objectOf(text) })
  const store = { synced: true, get: found, observe: () => undefined }
  const none = { synced: true, get: () => undefined }
  const deps = {
    client: {
      get: (_: unknown, asks: object) => {
        asked.push(asks)
        return answer()
      },
      create: (_: unknown, object: never) => write(object),
      apply: (_: unknown, object: never) => write(object).then(() => objectOf(text ?? '')),
    },
    configs: { get: () => ({ object: config }) },
    secrets: none,
    settingsSecrets: settingsSecrets(NAMESPACES, {
      secretSettings: none,
      deliverySettings: store,
      signInSettings: { synced: false, get: () => undefined },
    } as never),
    signInStatus: none,
    configMaps: {
      get: (asks: string) =>
        asks === 'platform-config-in-force' ? { object: { data: record } } : undefined,
    },
    storeToken: { known: null },
    configName: config.metadata.name,
    ...NAMESPACES,
    issuer: { current: () => null, next: () => null },
    signingKeyFaults: () => [],
    lastReport: { atMs: null },
    environment: () => undefined,
    platformVersion: '1.2.3',
    shapeCheck: () => [],
    clock,
    observer: { checked: () => undefined, applied: () => undefined },
  } as unknown as ConfigDeps
  const settle = async (): Promise<number> => {
    for (let passes = 0; passes < 6; passes += 1) {
      const outcome = await reconcile(deps.configName, deps, reconcileContext(log))
      if (outcome.result === 'done') throw new Error('it is not read again')
      // After a write its change comes by the watch.
      if (outcome.atMs > clock.nowMs() + 1000) return outcome.atMs - clock.nowMs()
    }
    throw new Error('it does not settle')
  }
  return {
    asked,
    clock,
    lines,
    settle,
    answers: (next: () => Promise<unknown>) => {
      answer = next
    },
    loses: () => {
      text = null
    },
    /** The token that is handed over; null = none, undefined = nothing is written. */
    token: () =>
      text === null ? undefined : (deliverySettingsIn(text)?.secretStore?.auth?.token ?? null),
  }
}

const objectOf = (config: string) => ({
  metadata: { name: 'platform-settings-delivery', uid: 'u', resourceVersion: '1' },
  data: { config: Buffer.from(config).toString('base64') },
})

const secretWith = (token: string) => () =>
  Promise.resolve({
    type: 'Opaque',
    metadata: { name: 'vault-token' },
    data: { token: Buffer.from(token).toString('base64') },
  })

describe('a token in a Secret', () => {
  test('is handed over, and read again after half an interval (36.1)', async () => {
    const { answers, settle, token, asked, clock, lines } = follower()
    answers(secretWith(`${CANARY}\n`))
    expect(await settle()).toBe(30_000)
    expect(token()).toBe(CANARY)
    expect(asked).toEqual([{ name: 'vault-token', namespace: 'platform-system' }])
    answers(secretWith('another'))
    await clock.advance(28_000)
    expect(await settle()).toBe(2000)
    expect(token()).toBe(CANARY)
    await clock.advance(2000)
    expect(await settle()).toBe(30_000)
    expect(token()).toBe('another')
    expect(asked).toHaveLength(2)
    expect(JSON.stringify(lines)).not.toContain('canary')
  })

  test('that is gone is handed over no more, and the log says why once', async () => {
    const { answers, settle, token, clock, lines } = follower()
    answers(secretWith(CANARY))
    await settle()
    answers(() => Promise.resolve(null))
    for (let round = 0; round < 3; round += 1) {
      await clock.advance(30_000)
      await settle()
    }
    expect(token()).toBeNull()
    const warned = lines.filter(({ level }) => level === 'warn')
    expect(warned).toMatchObject([
      {
        fields: {
          because: expect.stringContaining('vault-token of tokenSecretRef does not exist'),
        },
      },
    ])
  })

  test.each([
    { name: 'an API server without an answer', failure: new NoResponseError('GET secrets', null) },
    { name: 'a missing right', failure: denied() },
  ])('stays during $name', async ({ failure }) => {
    const { answers, settle, token, loses, clock, lines } = follower()
    answers(secretWith(CANARY))
    await settle()
    answers(() => Promise.reject(failure))
    await clock.advance(30_000)
    expect(await settle()).toBe(30_000)
    expect(token()).toBe(CANARY)
    expect(lines.at(-1)).toMatchObject({ level: 'warn' })
    // Somebody deletes what was handed over: it is put back.
    loses()
    await settle()
    expect(token()).toBe(CANARY)
  })

  test('that was never read leaves what is handed over as it is', async () => {
    const { answers, settle, token } = follower()
    answers(() => Promise.reject(denied()))
    expect(await settle()).toBe(30_000)
    expect(token()).toBeUndefined()
  })

  test("is not read in a Secret of the platform's own (6.8, K10)", async () => {
    const { answers, settle, token, asked } = follower('platform-signing-key-3')
    answers(secretWith(CANARY))
    await settle()
    expect(asked).toEqual([])
    expect(token()).toBeNull()
  })
})
