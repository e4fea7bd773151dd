// Keys that are revoked with the command line tool, in the way of a leaked one (contract 12.2, threats X9).
import { beforeAll, describe, expect, test } from 'vitest'
import { type RunResult, runProgram } from '../../../support/command-process.ts'
import { eventually } from '../../../support/eventually.ts'
import { bindRole } from '../../policies/rbac-users.ts'
import { SOON } from '../test-gateway.ts'
import { createCaller, type SelfServiceSetup } from './self-service-gateway.ts'

/** Declares the tests of `management-operator revoke`, by a user with the shipped role of a key administrator. */
export function testKeyRevocation(setup: SelfServiceSetup): void {
  const { keys, createKey, codeFor, callerFrom, plane } = setup
  let kubeconfig: string
  beforeAll(async () => {
    kubeconfig = await bindRole(plane, 'key-keeper', 'platform-key-admin')
  })
  const revoke = (...args: readonly string[]): Promise<RunResult> =>
    runProgram(['revoke', ...args, `--kubeconfig=${kubeconfig}`])
  const untilRefused = (key: string | undefined): Promise<boolean> =>
    eventually('the key is refused', async () => (await codeFor(key)) === 401 || undefined, SOON)

  describe('management-operator revoke (12.2, X9)', () => {
    test('disables a leaked key and all keys that self-service created with it', async () => {
      const leaked = await createCaller(setup, { user: 'eve', type: 'Login' })
      const [own, deleted] = [
        await createCaller(setup, { user: 'eve', type: 'Login' }),
        await createCaller(setup, { user: 'eve', type: 'Login' }),
      ]
      const child = await callerFrom(await createKey(leaked, { type: 'User' }))
      const grandchild = await callerFrom(await createKey(child))
      const other = await createKey(leaked, { type: 'Other' })
      const left = await createKey(deleted, { type: 'User' })
      const kept = await createKey(own, { type: 'User' })
      await keys.remove(deleted.name)
      await keys.gone(deleted.name)

      const dryRun = await revoke(leaked.name, '--dry-run')
      expect(dryRun).toMatchObject({ code: 0, stderr: '' })
      expect(dryRun.stdout).toContain(`${leaked.name} (user:eve): would be disabled\n`)
      expect(dryRun.stdout).toContain('4 of 4 would be disabled.')
      expect(await codeFor(leaked.token)).toBe(200)

      const { uid } = deleted.object.metadata
      const [run, byUid] = await Promise.all([revoke(leaked.name), revoke(uid)])
      expect(run).toMatchObject({ code: 0, stderr: '' })
      const made = `(user:eve, made with ${leaked.name}): disabled\n`
      expect(run.stdout).toContain(`${leaked.name} (user:eve): disabled\n`)
      for (const one of [child.name, other.json.metadata.name])
        expect(run.stdout).toContain(`${one} ${made}`)
      expect(run.stdout).toContain(
        `${grandchild.name} (user:eve, made with ${child.name}): disabled\n`,
      )
      expect(run.stdout).toMatch(/\n4 of 4 disabled\. [^]*carries no label[^]*audit log/)
      expect(byUid.stdout).toContain(`(user:eve, made with ${uid}): disabled\n`)
      for (const one of [leaked.token, child.token, grandchild.token, other.json.spec.key])
        await untilRefused(one)
      await untilRefused(left.json.spec.key)
      for (const one of [own.token, kept.json.spec.key]) expect(await codeFor(one)).toBe(200)
      expect((await revoke(leaked.name)).stdout).toContain('0 of 4 disabled.')
    })

    test('reports an unknown name, and missing rights', async () => {
      const { code, stdout, stderr } = await revoke('no-such-key')
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(
        /^management-operator revoke: no access key has the name or uid "no-such-key"/,
      )
      const unprivileged = await plane.clientKubeconfig({ name: 'idle', user: 'idle', groups: [] })
      const refused = await runProgram(['revoke', 'x', `--kubeconfig=${unprivileged}`])
      expect(refused).toMatchObject({ code: 1, stdout: '' })
      expect(refused.stderr).toMatch(
        /^management-operator revoke: .*User "idle" cannot list[^\n]*\n$/,
      )
    })
  })
}
