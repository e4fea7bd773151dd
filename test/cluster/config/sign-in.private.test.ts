// @module-tag no-retry
// What the manager does for the sign-in process: the settings that it hands over, and the state of the providers (6.8, 27.1).
import { describe, expect, test } from 'vitest'
import { findCanaries, plantCanary } from '../../support/canary.ts'
import { type OwnOperator, startOperator } from '../../support/command-process.ts'
import { CONFIGS_PATH, isReadyBy, RECORD_PATH, settingsOf } from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'

const plane = await privateControlPlane()
const { raw } = plane
const settings = settingsOf(plane)

const CORE = '/api/v1/namespaces'
const RBAC = '/apis/rbac.authorization.k8s.io/v1/namespaces'
const SHIPPED = 'platform-system-sign-in'
const canary = plantCanary('client secret')
const oidc = { issuerUrl: 'https://id.example.com', clientId: 'platform' }
const SECRET_SOURCE = `auth: {oidc: {clientSecret: ${canary.secret}}}`
/** Contract 6.6. */
const IN_TIME = { withinMs: 2000 }
const SOON = { withinMs: 20_000 }
/** The manager asks for its rights each ten seconds. */
const ONCE_ALLOWED = { withinMs: 20_000 }

const secretPath = (namespace: string): string =>
  `${CORE}/${namespace}/secrets/platform-settings-sign-in`

interface HandedOver {
  readonly platformHost?: string
  readonly auth?: { readonly oidc?: { readonly clientSecret?: string } }
}

/** The settings in the Secret; null = it does not exist. */
async function handedOver(namespace = SHIPPED): Promise<HandedOver | null> {
  const path = secretPath(namespace)
  const { code, body } = await raw<{ readonly data?: { readonly config?: string } }>('GET', path)
  if (code === 404) return null
  return JSON.parse(Buffer.from(body.data?.config ?? '', 'base64').toString() || '{}') as HandedOver
}

const operator = (flags: readonly string[] = []): Promise<OwnOperator> =>
  plane.operatorKubeconfig().then((kubeconfig) => startOperator({ kubeconfig, flags }))

const declare = (platformHost: string): Promise<void> =>
  settings.declare({ platformHost, auth: { oidc } })

/** Waits until the Secret has this platformHost, and returns its settings. */
const untilHandedOver = (platformHost: string, namespace = SHIPPED, within = SOON) =>
  eventually(
    `the Secret has ${platformHost}`,
    async () => {
      const found = await handedOver(namespace)
      return found?.platformHost === platformHost ? found : undefined
    },
    within,
  )

/** Declares a host, which the Secret has in time. */
async function changes(name: string): Promise<void> {
  await declare(`${name}.example.com`)
  await untilHandedOver(`${name}.example.com`, SHIPPED, IN_TIME)
}

describe('the Secret of the sign-in process', () => {
  test('has settings in clear, follows each change, and is put back (6.6, 6.8)', async () => {
    await using manager = await operator()
    await settings.settled('defaults are in force', isReadyBy('Applied'))
    await declare('one.example.com')
    await untilHandedOver('one.example.com', SHIPPED, ONCE_ALLOWED)
    await settings.secret(SECRET_SOURCE)
    const hasSecret = async () =>
      (await handedOver())?.auth?.oidc?.clientSecret === canary.secret || undefined
    await eventually('the client secret is in clear', hasSecret, SOON)
    expect((await handedOver())?.auth?.oidc).toMatchObject(oidc)
    // Tried again, as a busy machine may stop for two seconds.
    await changes('a')
      .catch(() => changes('b'))
      .catch(() => changes('c'))
    await declare('two.example.com')
    await untilHandedOver('two.example.com')
    const patch = { data: { config: Buffer.from('{"auth":{}}').toString('base64') } }
    const merge = { contentType: 'application/merge-patch+json' }
    expect((await raw('PATCH', secretPath(SHIPPED), patch, merge)).code).toBe(200)
    await untilHandedOver('two.example.com')
    expect((await raw('DELETE', secretPath(SHIPPED))).code).toBe(200)
    await untilHandedOver('two.example.com')
    await settings.declare({ platformHost: 'https://wrong', auth: { oidc } })
    await settings.settled('spec is invalid', isReadyBy('Invalid'))
    expect(await handedOver()).toMatchObject({ platformHost: 'two.example.com' })
    const events = '/apis/events.k8s.io/v1/events'
    const places = [CONFIGS_PATH, RECORD_PATH, events, `${CORE}/${SHIPPED}/configmaps`]
    const answers = await Promise.all(places.map((path) => raw('GET', path)))
    const texts = answers.map(({ body }) => JSON.stringify(body))
    const sinks = { objects: texts.join('\n'), log: JSON.stringify(manager.logs()) }
    expect(findCanaries(sinks, [canary])).toEqual([])
    expect(await manager.metrics()).not.toContain(canary.secret)
  })

  test('waits for its namespace, and holds up neither the manager nor the settings (6.8)', async () => {
    const later = 'made-later'
    await using manager = await operator([`--sign-in-namespace=${later}`])
    await declare('three.example.com')
    await settings.settled('the settings are in force', isReadyBy('Applied'))
    expect(await manager.health('/readyz')).toMatchObject({ code: 200 })
    const failures = manager.logs().filter(({ msg }) => /watch failed|cannot write/.test(msg))
    expect(failures).toEqual([])
    expect((await raw('POST', CORE, { metadata: { name: later } })).code).toBe(201)
    for (const kind of ['roles', 'rolebindings']) {
      const path = `${RBAC}/${SHIPPED}/${kind}/management-operator-manager-sign-in`
      const { body } = await raw<{ readonly metadata: { readonly labels: unknown } }>('GET', path)
      const metadata = { name: 'management-operator-manager-sign-in', namespace: later }
      const made = await raw('POST', `${RBAC}/${later}/${kind}`, { ...body, metadata })
      expect(made.code).toBe(201)
    }
    await untilHandedOver('three.example.com', later, ONCE_ALLOWED)
  })
})

test('SignInReady has what the sign-in process reports, and goes with the report (27.1)', async () => {
  await using _ = await operator()
  await declare('four.example.com')
  const report = (status: string) => ({ metadata: { name: NAME }, data: { status } })
  const NAME = 'platform-sign-in-status'
  const path = `${CORE}/${SHIPPED}/configmaps`
  const unusable = report('{"ready":false,"message":"oidc: no answer."}')
  expect((await raw('POST', path, unusable)).code).toBe(201)
  const conditionIs = (what: string, expected: object | undefined) =>
    settings.settled(what, ({ conditions = [] }) => {
      const found = conditions.find(({ type }) => type === 'SignInReady')
      return expected === undefined
        ? found === undefined
        : JSON.stringify({ ...found, ...expected }) === JSON.stringify(found)
    })
  const message = 'oidc: no answer.'
  await conditionIs('it is False', { status: 'False', reason: 'Unusable', message })
  expect((await raw('PUT', `${path}/${NAME}`, report('{"ready":true,"message":""}'))).code).toBe(
    200,
  )
  await conditionIs('it is True', { status: 'True', reason: 'Ready' })
  expect((await raw('PUT', `${path}/${NAME}`, report('{}'))).code).toBe(200)
  await conditionIs('it is absent', undefined)
})
