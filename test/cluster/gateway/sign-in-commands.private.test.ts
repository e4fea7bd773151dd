/** @module-tag no-retry */
// whoami, token and logout at a real gateway, with a key as a sign-in makes it, and kubectl with the exec plugin (contract
// 27.2, 12.1).
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { API_VERSION, TEAMS } from '../../../src/api/names.ts'
import { changeSignIns } from '../../../src/commands/login/sign-ins-file.ts'
import { programArgs, runProgram } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses } from '../../support/eventually.ts'
import { type StoredObject, objectClientOf } from '../../support/object-client.ts'
import { MANAGEMENT, SOON, startTestGateway } from './test-gateway.ts'

const setup = await startTestGateway(await privateControlPlane())
const { plane, keys, ca } = setup
const [gateway] = setup.gateways
if (!gateway) throw new Error('there is no gateway')
const url = gateway.url()

const home = mkdtempSync(join(tmpdir(), 'sign-in-commands-'))
afterAll(() => rmSync(home, { recursive: true }))
const file = join(home, 'management-operator/sign-ins.json')
const run = (line: string) => runProgram(line.split(' '), { XDG_CONFIG_HOME: home })

const END = '2099-01-01T00:00:00Z'

/** Keeps a key of Ada as login does. */
async function signedIn() {
  const key = await setup.key({ user: 'ada', type: 'Login' })
  const signIn = { accessKey: key.token, expirationTimestamp: END, ca }
  await changeSignIns(file, (signIns) => void signIns.set(url, signIn))
  return key
}

/** A kubeconfig that gets its key of `token`. */
function execKubeconfig(): string {
  const args = [...programArgs(), 'token', `--url=${url}`]
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    interactiveMode: 'IfAvailable',
    command: process.execPath,
    args,
    env: [{ name: 'XDG_CONFIG_HOME', value: home }],
  }
  const path = join(home, 'kubeconfig')
  const authority = Buffer.from(ca).toString('base64')
  const cluster = { server: `${url}${MANAGEMENT}`, 'certificate-authority-data': authority }
  const text = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'p', cluster }],
    users: [{ name: 'p', user: { exec } }],
    contexts: [{ name: 'p', context: { cluster: 'p', user: 'p' } }],
    'current-context': 'p',
  }
  writeFileSync(path, JSON.stringify(text))
  return path
}

describe('the commands of a sign-in at a gateway (27.2)', () => {
  test('show the person with the teams, and delete the key by itself (12.1)', async () => {
    const { object } = await signedIn()
    await objectClientOf<StoredObject>(plane, TEAMS).create({
      apiVersion: API_VERSION,
      kind: TEAMS.kind,
      metadata: { name: 'sre' },
      spec: { users: ['ada'] },
    })
    await eventuallyPasses(
      'whoami shows the team',
      async () =>
        expect(await run('whoami')).toEqual({
          code: 0,
          stdout: `user:     ada\nteams:    sre\nplatform: ${url}\nuntil:    ${END}\n`,
          stderr: '',
        }),
      SOON,
    )
    expect(await run('logout')).toEqual({
      code: 0,
      stdout: `Signed out at ${url}.\n`,
      stderr: '',
    })
    await keys.gone(object)
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ signIns: {} })
  })

  test('give kubectl the key, and the end of the key ends that', async () => {
    const { object } = await signedIn()
    const kubectl = (...args: readonly string[]) =>
      plane.kubectl(args, { kubeconfig: execKubeconfig() })
    const said = await kubectl('auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}')
    expect(said).toMatchObject({ code: 0, stdout: 'ada' })
    await keys.remove(object)
    await eventuallyPasses(
      'the gateway refuses the key',
      async () => expect((await kubectl('version')).stderr).toContain('logged in'),
      SOON,
    )
    expect(await run('whoami')).toMatchObject({ code: 1, stdout: '' })
    expect(await run('logout')).toMatchObject({ code: 0 })
  })
})
