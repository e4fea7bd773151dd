/** @module-tag no-retry */
// Ten users create and delete tokens as fast as they can, to grow the list of revoked tokens beyond what a stock API
// server can deny (threat X8): their quota stops them (contract 12.2).
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { GROUP, TOKENS } from '../../../src/api/names.ts'
import { deniedIn, runDenyRevoked, shippedFile } from '../../direct/authentication-file.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { type GatewayAnswer, ask } from '../../support/gateway-process.ts'
import { MANAGEMENT, startTestGateway } from './test-gateway.ts'

const USERS = 10
const QUOTA = 20
/** A replica counts the tokens in its store: the last few may still be missing. */
const UNSEEN = 3
const IN_TIME = { withinMs: 60_000 }
const PATH = `${MANAGEMENT}/apis/${GROUP}/v1/${TOKENS.plural}`

const setup = await startTestGateway(await privateControlPlane())

test('the quota bounds the revoked tokens of ten users, and a stock API server denies them all (12.2, X8)', async () => {
  const gateway = await setup.anotherGateway([`--max-tokens-per-user=${QUOTA}`])
  onTestFinished(async () => void (await gateway.stop()))
  const send = (token: string, method: string, path = PATH): Promise<GatewayAnswer> =>
    ask(`${gateway.url()}${path}`, {
      ca: setup.ca,
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(method === 'POST' ? { body: '{"spec":{"ttl":3600}}' } : {}),
    })
  const createToken = async (token: string): Promise<{ name: string; uid: string } | string> => {
    const { code, body } = await send(token, 'POST')
    expect([201, 403]).toContain(code)
    const { metadata, message } = JSON.parse(body)
    return code === 201 ? metadata : message
  }
  /** Creates and deletes tokens until QUOTA refusals; the uids, and the message of the first refusal. */
  async function createUntilRefused(
    user: string,
  ): Promise<{ uids: readonly string[]; refusal: string }> {
    const { token } = await setup.key({ user, type: 'Login' })
    const isAccepted = async () => (await send(token, 'GET')).code === 200 || undefined
    await eventually('the gateway accepts the key', isAccepted, IN_TIME)
    const uids: string[] = []
    let refusal = ''
    for (let refused = 0; refused < QUOTA; ) {
      const created = await createToken(token)
      if (typeof created === 'string') {
        refusal ||= created
        refused += 1
        continue
      }
      uids.push(created.uid)
      expect((await send(token, 'DELETE', `${PATH}/${created.name}`)).code).toBe(200)
    }
    return { uids, refusal }
  }

  const results = await Promise.all(
    Array.from({ length: USERS }, (_, at) => createUntilRefused(`flood-${at}`)),
  )
  for (const { uids, refusal } of results) {
    expect(uids.length).toBeGreaterThanOrEqual(QUOTA)
    expect(uids.length).toBeLessThanOrEqual(QUOTA + UNSEEN)
    expect(refusal).toMatch(
      new RegExp(`max-tokens-per-user.*${QUOTA}|${QUOTA}.*max-tokens-per-user`),
    )
  }
  const otherUser = await setup.key({ user: 'other', type: 'Login' })
  const isAccepted = async () => (await send(otherUser.token, 'GET')).code === 200 || undefined
  await eventually('the gateway accepts the key of another user', isAccepted, IN_TIME)
  const last = await createToken(otherUser.token)
  if (typeof last === 'string') throw new Error(`another user gets no token: ${last}`)
  await send(otherUser.token, 'DELETE', `${PATH}/${last.name}`)

  const revoked = [...results.flatMap(({ uids }) => uids), last.uid].toSorted()
  const listed = async () => {
    const { body } = await ask(`${gateway.url()}/oidc/revoked`, { ca: setup.ca })
    const found = Object.keys(JSON.parse(body).tokens).toSorted()
    return found.length >= revoked.length ? found : undefined
  }
  expect(await eventually('all are listed', listed, IN_TIME)).toEqual(revoked)

  const folder = mkdtempSync(join(tmpdir(), 'revocations-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [file, ca] = [join(folder, 'authentication.yaml'), join(folder, 'ca.crt')]
  writeFileSync(file, shippedFile('authentication'))
  writeFileSync(ca, setup.ca)
  const issuer = `${gateway.url()}/oidc`
  const run = await runDenyRevoked(['--issuer', issuer, '--file', file, '--ca-file', ca])
  expect(run).toMatchObject({ code: 0, stderr: '' })
  expect(deniedIn(file).toSorted()).toEqual(revoked)
})
