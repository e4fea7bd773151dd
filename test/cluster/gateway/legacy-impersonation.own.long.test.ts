// config/components/legacy-impersonation on an API server without constrained impersonation, as before Kubernetes 1.36:
// whom the gateway can impersonate there, and which protection is missing (contract 10.5).
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { ownControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses } from '../../support/eventually.ts'
import { GATEWAY_USER } from '../../support/installed-control-plane.ts'
import { CONFIG } from '../install/installer.ts'
import { type Impersonation, KEY_EXTRA, gatewayAccountClient } from './in-process-gateway.ts'

interface ReviewAnswer {
  readonly message?: string
  readonly status?: { readonly userInfo: object }
}

const apiServerFlags = ['--feature-gates=ConstrainedImpersonation=false']
const plane = await ownControlPlane({ apiServerFlags })
const gateway = await gatewayAccountClient(plane)

const overlay = realpathSync(mkdtempSync(join(tmpdir(), 'overlay-')))
afterAll(() => rmSync(overlay, { recursive: true }))
const from = (path: string): string => join(relative(overlay, realpathSync(CONFIG)), path)
const kustomization = {
  resources: [from('base')],
  components: [from('components/legacy-impersonation')],
}
writeFileSync(join(overlay, 'kustomization.yaml'), JSON.stringify(kustomization))

const REVIEWS = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
const REVIEW = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
const reviewAs = async (as: Impersonation) => {
  const { code, body } = await gateway<ReviewAnswer>('POST', REVIEWS, as, REVIEW)
  return { code, message: body.message, userInfo: body.status?.userInfo }
}

const ADA = { user: 'ada', ...KEY_EXTRA }

test('the gateway can impersonate no user without the component, and the 403 says why (10.5)', async () => {
  expect(await reviewAs(ADA)).toMatchObject({
    code: 403,
    message: expect.stringContaining(`User "${GATEWAY_USER}" cannot impersonate resource "users"`),
  })
})

test('the component passes strict validation and grants the older right to impersonate (10.5)', async () => {
  const apply = ['apply', '--server-side', '--validate=strict', '-k', overlay]
  expect(await plane.kubectl([...apply, '--dry-run=server'])).toMatchObject({ code: 0, stderr: '' })
  expect(await plane.kubectl(apply)).toMatchObject({ code: 0, stderr: '' })
  const groups = ['dev', 'platform:authenticated', 'system:authenticated']
  await eventuallyPasses(
    'the role takes effect',
    async () =>
      expect(await reviewAs({ ...ADA, group: groups })).toMatchObject({
        code: 201,
        userInfo: { username: 'ada', groups, extra: { 'platform.sh/access-key': ['ci'] } },
      }),
    { withinMs: 20_000 },
  )
})

test.each<{ name: string; as: Impersonation }>([
  {
    name: 'a service account',
    as: { ...ADA, user: 'system:serviceaccount:platform-system:manager' },
  },
  { name: 'a uid', as: { ...ADA, uid: '1' } },
  { name: 'another extra', as: { ...ADA, 'extra-platform.sh%2fscope': '*' } },
  { name: 'an extra without a domain', as: { ...ADA, 'extra-scopes': 'x' } },
])('impersonation of $name is still refused with the component (A4)', async ({ as }) => {
  expect(await reviewAs(as)).toMatchObject({
    code: 403,
    message: expect.stringContaining(`User "${GATEWAY_USER}" cannot impersonate`),
  })
})

test('a blank user with the extra that is always sent is a 400 (A3)', async () => {
  expect(await reviewAs({ ...KEY_EXTRA, user: ' ' })).toMatchObject({ code: 400 })
})

test.each<{ name: string; as: Impersonation }>([
  { name: 'system:masters', as: { ...ADA, group: 'system:masters' } },
  { name: 'a node', as: { user: 'system:node:n1', group: ['system:nodes'] } },
])('impersonation of $name is not refused by RBAC with the component (A4)', async ({ as }) => {
  expect(await reviewAs(as)).toMatchObject({ code: 201 })
})

test('the removal of the component removes its roles and the right', async () => {
  const LABEL = 'app.kubernetes.io/part-of=management-operator'
  const found = async () =>
    (
      await plane.kubectl(['get', 'clusterrole,clusterrolebinding', '-l', LABEL, '-o', 'name'])
    ).stdout
      .split('\n')
      .filter((name) => name.endsWith('-legacy-impersonation'))
  expect(await found()).toHaveLength(2)
  const file = join(CONFIG, 'components/legacy-impersonation/impersonation.yaml')
  expect(await plane.kubectl(['delete', '-f', file])).toMatchObject({ code: 0 })
  expect(await found()).toEqual([])
  const isRefused = async () => expect(await reviewAs(ADA)).toMatchObject({ code: 403 })
  await eventuallyPasses('impersonation is refused', isRefused, { withinMs: 20_000 })
})
