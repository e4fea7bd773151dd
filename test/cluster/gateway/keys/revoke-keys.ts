// A key that leaked, and what was made with it through a gateway (contract 12.2, threats X9).
import { beforeAll, describe, expect, test } from 'vitest'
import { type RunResult, runProgram } from '../../../support/command-process.ts'
import { eventually } from '../../../support/eventually.ts'
import { bindRole } from '../../policies/rbac-users.ts'
import { SOON } from '../test-gateway.ts'
import { hand } from './self-service-clients.ts'
import type { World } from './self-service-gateway.ts'

/** Tests of `management-operator revoke`, by somebody with the shipped role of a key administrator. */
export function testRevoking(world: World): void {
  const { keys, make, opens, held, plane } = world
  let kubeconfig: string
  beforeAll(async () => {
    kubeconfig = await bindRole(plane, 'key-keeper', 'platform-key-admin')
  })
  const revoke = (...args: readonly string[]): Promise<RunResult> =>
    runProgram(['revoke', ...args, `--kubeconfig=${kubeconfig}`])
  const isOut = (key: string | undefined): Promise<boolean> =>
    eventually('the key is out', async () => (await opens(key)) === 401 || undefined, SOON)

  describe('a key that leaked is revoked (12.2, X9)', () => {
    test('and nothing that self-service made with it still works', async () => {
      const leaked = await hand(world, { user: 'eve', type: 'Login' })
      const [own, gone] = [
        await hand(world, { user: 'eve', type: 'Login' }),
        await hand(world, { user: 'eve', type: 'Login' }),
      ]
      const child = await held(await make(leaked, { type: 'User' }))
      const grandchild = await held(await make(child))
      const other = await make(leaked, { type: 'Other' })
      const left = await make(gone, { type: 'User' })
      const kept = await make(own, { type: 'User' })
      await keys.remove(gone.name)
      await keys.gone(gone.name)

      const looked = await revoke(leaked.name, '--dry-run')
      expect(looked).toMatchObject({ code: 0, stderr: '' })
      expect(looked.stdout).toContain(`${leaked.name} (user:eve): would be disabled\n`)
      expect(looked.stdout).toContain('4 of 4 would be disabled.')
      expect(await opens(leaked.token)).toBe(200)

      const { uid } = gone.object.metadata
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
        await isOut(one)
      await isOut(left.json.spec.key)
      for (const one of [own.token, kept.json.spec.key]) expect(await opens(one)).toBe(200)
      expect((await revoke(leaked.name)).stdout).toContain('0 of 4 disabled.')
    })

    test('by somebody without rights, or by a name that nobody has, says so', async () => {
      const { code, stdout, stderr } = await revoke('no-such-key')
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(
        /^management-operator revoke: no access key has the name or uid "no-such-key"/,
      )
      const nobody = await plane.clientKubeconfig({ name: 'idle', user: 'idle', groups: [] })
      const refused = await runProgram(['revoke', 'x', `--kubeconfig=${nobody}`])
      expect(refused).toMatchObject({ code: 1, stdout: '' })
      expect(refused.stderr).toMatch(
        /^management-operator revoke: .*User "idle" cannot list[^\n]*\n$/,
      )
    })
  })
}
