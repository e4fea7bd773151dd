// Status written by other clients: it neither blocks the operator nor makes it write without end.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ACCESS_KEYS } from '../../../src/api/names.ts'
import type { OwnedAccessKey } from '../../../src/api/ownedaccesskey.gen.ts'
import { auditOf } from '../../support/audit-log.ts'
import { type OwnOperator, startOperator } from '../../support/command-process.ts'
import { IN_FORCE_PATH, settingsOf } from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { OPERATOR_USER } from '../../support/installed-control-plane.ts'
import { newKey } from '../../support/object-builder.ts'
import { endingSoon } from './key-client.ts'

const plane = await privateControlPlane()
const { admin, raw } = plane
const audit = auditOf(plane)
const settings = settingsOf(plane)
const SOON = { withinMs: 20_000 }
let operator: OwnOperator

beforeAll(async () => {
  operator = await startOperator({
    kubeconfig: await plane.operatorKubeconfig(),
    flags: ['--expired-retention=3s'],
  })
  await settings.settled('settings are in force', ({ auth }) => auth !== undefined)
})
afterAll(() => operator?.stop())

const pathOf = ({ metadata }: OwnedAccessKey): string =>
  `/apis/management.platform.sh/v1/ownedaccesskeys/${metadata.name}`

const published = (key: OwnedAccessKey): Promise<OwnedAccessKey> =>
  eventually(
    'its status is published',
    async () => {
      const found = await admin.get<OwnedAccessKey>(ACCESS_KEYS, key.metadata)
      return found?.status?.conditions ? found : undefined
    },
    SOON,
  )

test.each([
  {
    name: 'a condition of our type',
    status: (key: OwnedAccessKey) => ({
      conditions: [
        ...(key.status?.conditions ?? []),
        {
          type: 'Stalled',
          status: 'True',
          reason: 'Theirs',
          message: 'foreign',
          lastTransitionTime: '2026-11-21T10:00:00Z',
        },
      ],
    }),
  },
  {
    name: 'a condition of another type',
    status: (key: OwnedAccessKey) => ({
      conditions: [
        ...(key.status?.conditions ?? []),
        {
          type: 'Theirs',
          status: 'True',
          reason: 'Theirs',
          message: 'foreign',
          lastTransitionTime: '2026-11-21T10:00:00Z',
        },
      ],
    }),
  },
  {
    name: 'a wrong Ready condition',
    status: () => ({
      conditions: [
        {
          type: 'Ready',
          status: 'False',
          reason: 'Theirs',
          message: 'foreign',
          lastTransitionTime: '2026-11-21T10:00:00Z',
        },
      ],
    }),
  },
  {
    name: 'a wrong expirationTimestamp',
    status: () => ({
      expirationTimestamp: '2099-01-01T00:00:00Z',
      removalTimestamp: '2099-01-01T00:00:00Z',
    }),
  },
])(
  '$name by another client costs few writes, and the key still expires and is deleted (4.1, 5.2)',
  async ({ status }) => {
    const made = newKey({ ttl: 3600 })
    const key = await published(await admin.create<OwnedAccessKey>(ACCESS_KEYS, made, 'test'))
    const mark = await audit.mark()
    expect((await raw('PATCH', `${pathOf(key)}/status`, { status: status(key) })).code).toBe(200)
    expect((await raw('PATCH', pathOf(key), { spec: endingSoon(key) })).code).toBe(200)
    await eventually(
      'it expired and is gone',
      async () => ((await admin.get(ACCESS_KEYS, key.metadata)) ? undefined : true),
      SOON,
    )
    const writes = await audit.writesSince(mark, { user: OPERATOR_USER })
    // Conflicts with the writes of this test change nothing and are not counted.
    const ofKey = writes.filter(
      ({ resource, code }) => resource === 'ownedaccesskeys' && code !== 409,
    )
    // Its status, the later expiry, the expiry, the deletion, the finalizer.
    expect(ofKey.length).toBeLessThanOrEqual(5)
  },
)

test('a cap that another client writes into the status of Config shortens no key before it is reverted (6.2, 2.2)', async () => {
  await settings.declare({ auth: { accessKeyMaxTTLSeconds: 86_400 } })
  await settings.settled(
    'the cap is in force',
    ({ auth }) => auth?.accessKeyMaxTTLSeconds === 86_400,
  )
  const key = await published(
    await admin.create<OwnedAccessKey>(ACCESS_KEYS, newKey({ type: 'Login' }), 'test'),
  )
  const mark = await audit.mark()
  for (const value of [1, 0]) {
    const answer = await raw('PATCH', `${IN_FORCE_PATH}/status`, {
      status: { auth: { accessKeyMaxTTLSeconds: value } },
    })
    expect(answer.code).toBe(200)
    await settings.settled(
      'it is taken back',
      ({ auth }) => auth?.accessKeyMaxTTLSeconds === 86_400,
    )
  }
  const writes = await audit.writesSince(mark, { user: OPERATOR_USER })
  expect(writes.filter(({ resource }) => resource === 'ownedaccesskeys')).toEqual([])
  expect((await published(key)).status?.effectiveTTLSeconds).toBe(86_400)
})

test('a condition of another type on Config causes no write (4.3)', async () => {
  const { status } = await settings.read()
  const foreign = {
    type: 'Theirs',
    status: 'True',
    reason: 'Theirs',
    message: 'foreign',
    lastTransitionTime: '2026-11-21T10:00:00Z',
  }
  await raw('PATCH', `${IN_FORCE_PATH}/status`, {
    status: { conditions: [...(status?.conditions ?? []), foreign] },
  })
  const mark = await audit.mark()
  await raw('PATCH', IN_FORCE_PATH, { metadata: { labels: { touched: 'yes' } } })
  const key = await admin.create<OwnedAccessKey>(ACCESS_KEYS, newKey(), 'test')
  await published(key)
  const writes = await audit.writesSince(mark, { user: OPERATOR_USER })
  expect(writes.filter(({ resource }) => resource === 'configs')).toEqual([])
})
