// The gateway's own audit log, beside that of the API server behind it (contract 21 to 22.2).
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { AuditSettings } from '../../../src/api/config.gen.ts'
import { auditOf } from '../../support/audit-log.ts'
import { settingsOf } from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { SOON, startTestGateway } from './test-gateway.ts'

const setup = await startTestGateway(await privateControlPlane(), 1, ['--audit-subdirectory=g0'])
const settings = settingsOf(setup.plane)
const upstream = auditOf(setup.plane)
const folder = mkdtempSync(join(tmpdir(), 'audit-'))
const file = join(folder, 'g0', 'audit.log')
afterAll(() => rmSync(folder, { recursive: true }))

/** An event as a line has it. */
interface Line {
  readonly auditID: string
  readonly stage: string
  readonly verb: string
  readonly requestURI: string
  readonly user: { readonly username: string }
  readonly objectRef?: Readonly<Record<string, string>>
  readonly responseStatus?: { readonly code: number }
  readonly annotations: Readonly<Record<string, string>>
}

const lines = (): readonly Line[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Line)
    : []

const linesOf = (id: unknown): readonly Line[] => lines().filter(({ auditID }) => auditID === id)

/** Puts these settings in force, and waits until the gateway records by them. */
async function record(token: string, audit: AuditSettings): Promise<void> {
  await settings.declare({ audit: { enabled: true, path: folder, ...audit } })
  await eventually(
    'the gateway records',
    async () => {
      const { headers } = await setup.ask(token, '/api/v1/namespaces')
      return linesOf(headers['audit-id']).length > 0 || undefined
    },
    SOON,
  )
}

test('a gateway without audit in its Config touches nothing (21.1)', async () => {
  const { token } = await setup.key()
  await setup.ask(token, '/api')
  expect(readdirSync(folder)).toEqual([])
})

test('a request that the policy names has a line with the ID of its answer and of the API server (21.3, 22.2)', async () => {
  const { token, object } = await setup.key({ user: 'ada', type: 'User' })
  await record(token, { level: 2 })
  const mark = await upstream.mark()
  const { code, headers } = await setup.ask(token, '/api/v1/namespaces/shop/secrets/s?pretty=1')
  expect(code).toBe(403)
  expect(linesOf(headers['audit-id'])).toEqual([
    expect.objectContaining({
      stage: 'ResponseComplete',
      verb: 'get',
      requestURI: '/kubernetes/management/api/v1/namespaces/shop/secrets/s?pretty=1',
      user: expect.objectContaining({ username: 'ada' }),
      objectRef: { resource: 'secrets', namespace: 'shop', name: 's', apiVersion: 'v1' },
      responseStatus: { metadata: {}, code: 403 },
      annotations: {
        'platform.sh/target': 'Management',
        'platform.sh/access-key': object.metadata.name,
        'platform.sh/key-id': expect.stringMatching(/^[0-9a-f]{16}$/),
      },
    }),
  ])
  const stored = (await upstream.linesSince(mark)).map((line) => JSON.parse(line) as Line)
  expect(stored.filter(({ auditID }) => auditID === headers['audit-id'])).not.toEqual([])
})
