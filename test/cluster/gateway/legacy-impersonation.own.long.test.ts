// config/components/legacy-impersonation on an API server without constrained impersonation, as those before
// Kubernetes 1.36: what the gateway can do there, and what it could be made to do (contract 10.5).
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { ownControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses } from '../../support/eventually.ts'
import { GATEWAY_USER } from '../../support/installed-control-plane.ts'
import { CONFIG } from '../install/kustomize-output.ts'
import { type As, OUR_EXTRA, asGateway } from './account-client.ts'

interface Said {
  readonly message?: string
  readonly status?: { readonly userInfo: object }
}

const apiServerFlags = ['--feature-gates=ConstrainedImpersonation=false']
const plane = await ownControlPlane({ apiServerFlags })
const gateway = await asGateway(plane)

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
const whoAmI = async (as: As) => {
  const { code, body } = await gateway<Said>('POST', REVIEWS, as, REVIEW)
  return { code, message: body.message, who: body.status?.userInfo }
}

const ADA = { user: 'ada', ...OUR_EXTRA }

test('with the rights for 1.36 the gateway can act as nobody there, and the answer says why (10.5)', async () => {
  expect(await whoAmI(ADA)).toMatchObject({
    code: 403,
    message: expect.stringContaining(`User "${GATEWAY_USER}" cannot impersonate resource "users"`),
  })
})

test('the component passes strict validation and gives it the older right (10.5)', async () => {
  const apply = ['apply', '--server-side', '--validate=strict', '-k', overlay]
  expect(await plane.kubectl([...apply, '--dry-run=server'])).toMatchObject({ code: 0, stderr: '' })
  expect(await plane.kubectl(apply)).toMatchObject({ code: 0, stderr: '' })
  const groups = ['dev', 'platform:authenticated', 'system:authenticated']
  await eventuallyPasses(
    'the role counts',
    async () =>
      expect(await whoAmI({ ...ADA, group: groups })).toMatchObject({
        code: 201,
        who: { username: 'ada', groups, extra: { 'platform.sh/access-key': ['ci'] } },
      }),
    { withinMs: 20_000 },
  )
})

test.each<{ name: string; as: As }>([
  {
    name: 'a service account',
    as: { ...ADA, user: 'system:serviceaccount:platform-system:manager' },
  },
  { name: 'a uid', as: { ...ADA, uid: '1' } },
  { name: 'another extra', as: { ...ADA, 'extra-platform.sh%2fscope': '*' } },
  { name: 'an extra without a domain', as: { ...ADA, 'extra-scopes': 'x' } },
])('$name is refused all the same (A4)', async ({ as }) => {
  expect(await whoAmI(as)).toMatchObject({
    code: 403,
    message: expect.stringContaining(`User "${GATEWAY_USER}" cannot impersonate`),
  })
})

test('a blank user with the extra that is always sent is no request (A3)', async () => {
  expect(await whoAmI({ ...OUR_EXTRA, user: ' ' })).toMatchObject({ code: 400 })
})

test.each<{ name: string; as: As }>([
  { name: 'system:masters', as: { ...ADA, group: 'system:masters' } },
  { name: 'a node', as: { user: 'system:node:n1', group: ['system:nodes'] } },
])('$name is not refused: this is what is weaker (A4)', async ({ as }) => {
  expect(await whoAmI(as)).toMatchObject({ code: 201 })
})

test('taken away again, nothing of it is left', async () => {
  const OURS = 'app.kubernetes.io/part-of=management-operator'
  const found = async () =>
    (
      await plane.kubectl(['get', 'clusterrole,clusterrolebinding', '-l', OURS, '-o', 'name'])
    ).stdout
      .split('\n')
      .filter((name) => name.endsWith('-legacy-impersonation'))
  expect(await found()).toHaveLength(2)
  const file = join(CONFIG, 'components/legacy-impersonation/impersonation.yaml')
  expect(await plane.kubectl(['delete', '-f', file])).toMatchObject({ code: 0 })
  expect(await found()).toEqual([])
  const lost = async () => expect(await whoAmI(ADA)).toMatchObject({ code: 403 })
  await eventuallyPasses('the right is gone', lost, { withinMs: 20_000 })
})
