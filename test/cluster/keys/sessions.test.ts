// `management-operator sessions`, by a user with the shipped role of a key administrator (contract 27.2).
import { expect, test } from 'vitest'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { type RunResult, runProgram } from '../../support/command-process.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { bindRole, onPlatformKinds, rbacUser } from '../policies/rbac-users.ts'
import { keyClientOf } from './key-client.ts'

const plane = await sharedControlPlane()
const keys = keyClientOf(plane)
const admin = await bindRole(plane, uniqueName('session-keeper'), 'platform-key-admin')

const sessions = (user: string, ...args: readonly string[]): Promise<RunResult> =>
  runProgram(['sessions', `--user=${user}`, ...args, `--kubeconfig=${admin}`])

const DAY = 86_400_000
const HELM = { labels: { 'app.kubernetes.io/managed-by': 'Helm' } }

test('sessions lists the Login keys of a person, and --end ends these and no other key (27.2)', async () => {
  const user = `${uniqueName('Ada')},x=y\\z`
  const displayName = 'Sign-in by oidc,\u009b31m Firefox'
  const login = await keys.create({ user, type: 'Login', displayName })
  const used = await keys.create({ user, type: 'Login', ttl: 3600 })
  const declared = await keys.create({ user, type: 'Login' }, HELM)
  const other = await keys.create({ user, type: 'User' })
  const foreign = await keys.create({ user: uniqueName('bob'), type: 'Login' })
  const shown = await keys.shown(login, 'Active')
  for (const key of [used, declared, other, foreign]) await keys.shown(key, 'Active')
  const at = Math.floor(Date.now() / 1000) * 1000
  await keys.use(used, at)
  const second = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z')

  const listed = await sessions(user)
  expect(listed).toMatchObject({ code: 0, stderr: '' })
  const made = Date.parse(login.metadata.creationTimestamp)
  expect(shown.status.expirationTimestamp).toBe(second(made + 20 * DAY))
  expect(listed.stdout).toContain(
    `${login.metadata.name}: "Sign-in by oidc,\\u009b31m Firefox", since ${second(made)}, never used, until ${second(made + 20 * DAY)}\n`,
  )
  expect(listed.stdout).toContain(`last used ${second(at)}`)
  expect(listed.stdout).toMatch(/\n3 sessions of .*\.\n$/)
  for (const key of [other, foreign]) expect(listed.stdout).not.toContain(key.metadata.name)

  const ended = await sessions(user, '--end')
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  expect(ended.stdout).toContain(': disabled, as a GitOps tool would create it again\n')
  expect(ended.stdout).toContain('\n3 of 3 ended. Other keys of')
  for (const key of [login, used]) await keys.gone(key.metadata.name)
  await keys.shown(declared, 'Disabled')
  for (const key of [other, foreign]) await keys.shown(key, 'Active')
  expect((await sessions(user, '--end')).stdout).toContain('0 of 1 ended.')
})

test('sessions of nobody are none, and one that cannot be ended is exit code 1 (27.2)', async () => {
  const user = uniqueName('nobody')
  expect(await sessions(user)).toEqual({ code: 0, stdout: `0 sessions of ${user}.\n`, stderr: '' })

  const { metadata } = await keys.create({ user, type: 'Login' })
  const rights = [onPlatformKinds(['list'], ['ownedaccesskeys'])]
  const kubeconfig = await rbacUser(plane, uniqueName('session-reader'), rights)
  const ended = await runProgram(['sessions', '--user', user, '--end', '--kubeconfig', kubeconfig])
  expect(ended.code).toBe(1)
  expect(ended.stdout).toContain(`${metadata.name}: since`)
  expect(ended.stdout).toMatch(/: FAILED: .*cannot delete resource[^]*\n0 of 1 ended\./)
})
