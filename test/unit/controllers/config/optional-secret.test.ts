// The Secret of the sign-in process where it can't be written: the settings are in force for all others (contract 6.8).
import { expect, test } from 'vitest'
import { type ConfigDeps, reconcile } from '../../../../src/controllers/config/reconcile.ts'
import {
  settingsSecrets,
  storedSecrets,
} from '../../../../src/controllers/config/settings-secrets.ts'
import { NoResponseError, StatusError } from '../../../../src/kube/client/api-error.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { reconcileContext } from '../../../support/reconcile-context.ts'
import { initialState, NOW_MS, stepsOf, stored } from './plan-builder.ts'

const NAMESPACES = { namespace: 'platform-system', signInNamespace: 'platform-system-sign-in' }
const statusError = (code: number): StatusError =>
  new StatusError({
    code,
    reason: 'X',
    message: `create secrets: ${code}`,
    words: 'canary',
    retryAfterMs: null,
    isTestFailed: false,
  })

/** A reconcile of a Config that is settled but for that Secret, whose create fails by this error. */
async function reconciled(failure: Error) {
  const { end } = stepsOf(initialState({ settingsSecrets: stored(null, 'unchanged') }))
  const { config, record } = end
  const applied: unknown[] = []
  const { log, lines } = memoryLog()
  const store = { synced: true, get: () => undefined }
  const stores = { secretSettings: store, deliverySettings: store, signInSettings: store } as never
  const deps = {
    client: {
      create: () => Promise.reject(failure),
      apply: (...call: readonly unknown[]) => Promise.resolve(void applied.push(call)),
    },
    configs: { get: () => ({ object: config }) },
    secrets: { get: () => undefined },
    settingsSecrets: settingsSecrets(NAMESPACES, stores),
    signInStatus: { get: () => undefined },
    configMaps: { get: () => ({ object: { data: record } }) },
    configName: config.metadata.name,
    ...NAMESPACES,
    issuer: { current: () => null, next: () => null },
    signingKeyFaults: () => [],
    storeToken: { known: null },
    lastReport: { atMs: null },
    environment: () => undefined,
    platformVersion: '1.2.3',
    shapeCheck: () => [],
    clock: manualClock(NOW_MS),
    observer: { checked: () => undefined, applied: () => undefined },
  } as unknown as ConfigDeps
  const outcome = reconcile(deps.configName, deps, reconcileContext(log))
  return { outcome, applied, lines }
}

test.each([
  { name: 'a missing namespace', code: 404 },
  { name: 'a missing right, or a namespace that ends', code: 403 },
  { name: 'a webhook that refuses', code: 422 },
])('$name is tried again after ten seconds, and status says nothing', async ({ code }) => {
  const { outcome, applied, lines } = await reconciled(statusError(code))
  expect(await outcome).toEqual({ result: 'later', atMs: NOW_MS + 10_000 })
  expect(applied).toEqual([])
  expect(lines).toMatchObject([{ level: 'warn', fields: { reader: 'sign-in process' } }])
  expect(JSON.stringify(lines)).not.toContain('canary')
})

test('an API server without an answer is left to the back-off, as for every write', async () => {
  const error = new NoResponseError('POST secrets', null)
  const { outcome, applied } = await reconciled(error)
  await expect(outcome).rejects.toBe(error)
  expect(applied).toEqual([])
})

// biome-ignore format: a table
test.each([
  { name: 'unknown where it has not been listed', synced: false, found: undefined, known: ['gateway', 'delivery process'] },
  { name: 'absent where the list lacks it', synced: true, found: undefined, known: ['gateway', 'delivery process', 'sign-in process'], text: null },
  { name: 'empty without its data key', synced: true, found: { object: { metadata: { resourceVersion: '7' }, data: {} } }, known: ['gateway', 'delivery process', 'sign-in process'], text: '' },
])('the Secret is $name', ({ synced, found, known, text }) => {
  const store = { synced, get: () => found }
  const unlisted = { synced: false, get: () => undefined }
  const stores = { secretSettings: unlisted, deliverySettings: unlisted, signInSettings: store }
  const secrets = storedSecrets(settingsSecrets(NAMESPACES, stores as never))
  expect(secrets.map(({ reader }) => reader)).toEqual(known)
  expect(secrets[2]?.stored).toBe(text)
})
