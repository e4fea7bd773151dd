// @module-tag no-retry
// What the manager does for the secret store: the settings with the token that it hands over, and its state (6.8, 36.1).
import { expect, test } from 'vitest'
import { findCanaries, plantCanary } from '../../support/canary.ts'
import { startOperator } from '../../support/command-process.ts'
import { CONFIGS_PATH, RECORD_PATH, settingsOf } from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'

const plane = await privateControlPlane()
const { raw } = plane
const settings = settingsOf(plane)

const CORE = '/api/v1/namespaces/platform-system'
const HANDED_OVER = `${CORE}/secrets/platform-settings-delivery`
const STATUS = 'platform-secret-store-status'
const canary = plantCanary('token of the secret store')
const SOON = { withinMs: 10_000 }
const base64 = (text: string): string => Buffer.from(text).toString('base64')

const storeWith = (tokenSecretRef: object): Promise<void> =>
  settings.declare({
    secretStore: {
      enabled: true,
      address: 'https://vault.example.com',
      syncInterval: '10s',
      auth: { tokenSecretRef },
    },
  })

/** Waits until the Secret of the delivery process has this token; null = none. */
const untilHandedOver = (token: string | null): Promise<unknown> =>
  eventually(
    `the Secret has ${token === null ? 'no' : 'the'} token`,
    async () => {
      const { code, body } = await raw<{ readonly data?: { readonly config?: string } }>(
        'GET',
        HANDED_OVER,
      )
      if (code !== 200) return undefined
      const text = Buffer.from(body.data?.config ?? '', 'base64').toString()
      const { secretStore } = JSON.parse(text) as {
        readonly secretStore?: { readonly auth?: { readonly token?: string } }
      }
      return (secretStore?.auth?.token ?? null) === token || undefined
    },
    SOON,
  )

const conditionIs = (what: string, expected: object | null) =>
  settings.settled(what, ({ conditions = [] }) => {
    const found = conditions.find(({ type }) => type === 'SecretStoreReady')
    return expected === null
      ? found === undefined
      : JSON.stringify({ ...found, ...expected }) === JSON.stringify(found)
  })

test('the token of a Secret is handed over, follows it, and is shown nowhere; SecretStoreReady repeats the report (6.8, 36.1, K10)', async () => {
  await using manager = await startOperator({ kubeconfig: await plane.operatorKubeconfig() })
  const secret = (token: string) => ({
    metadata: { name: 'vault-token' },
    data: { token: base64(token) },
  })
  expect((await raw('POST', `${CORE}/secrets`, secret(`${canary.secret}\n`))).code).toBe(201)
  await storeWith({ name: 'vault-token' })
  await untilHandedOver(canary.secret)
  const changed = `${canary.secret}-2`
  expect((await raw('PUT', `${CORE}/secrets/vault-token`, secret(changed))).code).toBe(200)
  await untilHandedOver(changed)
  const report = (status: object) => ({
    metadata: { name: STATUS },
    data: { status: JSON.stringify(status) },
  })
  const partly = { status: 'False', reason: 'Partly', message: '2 Secrets fail.' }
  expect((await raw('POST', `${CORE}/configmaps`, report(partly))).code).toBe(201)
  await conditionIs('it has what is reported', partly)

  // A signing key, which whoever writes the Config would have sent to an address of theirs.
  const { body } = await raw<{ readonly items: readonly { metadata: { name: string } }[] }>(
    'GET',
    `${CORE}/secrets?fieldSelector=type%3Dmanagement.platform.sh%2Fsigning-key`,
  )
  const { name = '' } = body.items[0]?.metadata ?? {}
  await storeWith({ name, key: 'key' })
  await untilHandedOver(null)
  const missing = { status: 'Unknown', reason: 'TokenMissing', message: 'There is no token.' }
  expect((await raw('PUT', `${CORE}/configmaps/${STATUS}`, report(missing))).code).toBe(200)
  const message = `There is no token. tokenSecretRef names Secret ${name}, which is the platform's own: put the token into a Secret of its own.`
  await conditionIs('it says why', { ...missing, message })

  await storeWith({ name: 'vault-token', optional: true })
  await untilHandedOver(changed)
  await storeWith({ name: 'made-later', optional: true })
  await untilHandedOver(null)
  const places = [CONFIGS_PATH, RECORD_PATH, '/apis/events.k8s.io/v1/events', `${CORE}/configmaps`]
  const answers = await Promise.all(places.map((path) => raw('GET', path)))
  const objects = answers.map(({ body: found }) => JSON.stringify(found)).join('\n')
  const sinks = { objects, log: JSON.stringify(manager.logs()), metrics: await manager.metrics() }
  expect(findCanaries(sinks, [canary])).toEqual([])
  await settings.declare({})
  await conditionIs('it is absent while the store is off', null)
})
