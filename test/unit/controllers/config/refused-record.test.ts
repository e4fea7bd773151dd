// A record of the settings that the API server refuses again and again, each time in other words (contract 6.5).
import { expect, test } from 'vitest'
import type { Config } from '../../../../src/api/config.gen.ts'
import { type ConfigDeps, reconcile } from '../../../../src/controllers/config/reconcile.ts'
import { StatusError } from '../../../../src/kube/client/api-error.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { statusEntry } from '../../../support/key-builder.ts'
import { configObject } from '../../../support/object-builder.ts'
import { reconcileContext } from '../../../support/reconcile-context.ts'

/** A reconciler of one Config whose record is always refused, and the messages of Ready that it published. */
function refusing() {
  const clock = manualClock(Date.UTC(2026, 10, 21, 10))
  const published: unknown[] = []
  let config: Config = configObject({ spec: { platformHost: 'p' } })
  let tries = 0
  const refused = (): StatusError =>
    new StatusError({
      code: 403,
      reason: 'Forbidden',
      message: 'refused',
      words: `request ${(tries += 1)} denied`,
      retryAfterMs: null,
      isTestFailed: false,
    })
  const status = async ({ status: next }: { readonly status: NonNullable<Config['status']> }) => {
    published.push(next.conditions?.[0]?.message)
    const metadata = { ...config.metadata, managedFields: [statusEntry(next)] }
    config = { ...config, metadata, status: next }
    return config
  }
  const deps = {
    client: {
      create: () => Promise.reject(refused()),
      apply: (_: unknown, object: { readonly status: NonNullable<Config['status']> }) =>
        status(object),
    },
    configs: { get: () => ({ object: config }), observe: () => undefined },
    secrets: { get: () => undefined },
    settingsSecrets: [],
    signInStatus: { get: () => undefined },
    signInNamespace: 'platform-system-sign-in',
    configMaps: { get: () => undefined },
    configName: config.metadata.name,
    namespace: 'platform-system',
    issuer: { current: () => null, next: () => null },
    signingKeyFaults: () => [],
    storeToken: { known: null },
    lastReport: { atMs: null },
    environment: () => undefined,
    platformVersion: '1.2.3',
    shapeCheck: () => [],
    events: { record: () => undefined },
    clock,
    observer: { checked: () => undefined, applied: () => undefined },
  } as unknown as ConfigDeps
  const retry = async (): Promise<void> => {
    await expect(reconcile(deps.configName, deps, reconcileContext())).rejects.toThrow('refused')
  }
  return { clock, published, retry }
}

test('a refusal in other words at each retry is one write of the status a minute (6.5)', async () => {
  const { clock, published, retry } = refusing()
  for (let second = 0; second < 60; second += 10) {
    await retry()
    await clock.advance(10_000)
  }
  expect(published).toEqual([expect.stringContaining('request 1 denied')])
  await retry()
  expect(published).toHaveLength(2)
  expect(published[1]).toContain('request 7 denied')
})
