/** @module-tag no-retry */
// Ten users make tokens and delete them as fast as they can, so that the list of revoked ones outgrows what a
// stock API server can deny (threat X8): their bounds end it (contract 12.2).
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { GROUP, TOKENS } from '../../../src/api/names.ts'
import { deniedIn, runScript, shipped } from '../../direct/deny-revoked-script.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { type GatewayAnswer, ask } from '../../support/gateway-process.ts'
import { MANAGEMENT, startTestGateway } from './test-gateway.ts'

const USERS = 10
const BOUND = 20
/** A replica counts what it has seen: the last few may be on their way. */
const UNSEEN = 3
const IN_TIME = { withinMs: 60_000 }
const PATH = `${MANAGEMENT}/apis/${GROUP}/v1/${TOKENS.plural}`

const front = await startTestGateway(await privateControlPlane())

test('ten users at their bound revoke so many tokens, and a stock server denies them all (12.2, X8)', async () => {
  const gateway = await front.another([`--max-tokens-per-user=${BOUND}`])
  onTestFinished(async () => void (await gateway.stop()))
  const send = (token: string, method: string, path = PATH): Promise<GatewayAnswer> =>
    ask(`${gateway.url()}${path}`, {
      ca: front.ca,
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(method === 'POST' ? { body: '{"spec":{"ttl":3600}}' } : {}),
    })
  const make = async (token: string): Promise<{ name: string; uid: string } | string> => {
    const { code, body } = await send(token, 'POST')
    expect([201, 403]).toContain(code)
    const { metadata, message } = JSON.parse(body)
    return code === 201 ? metadata : message
  }
  /** Until it is refused, and as often again: what was made, and what the first refusal said. */
  async function flood(user: string): Promise<{ uids: readonly string[]; refusal: string }> {
    const { token } = await front.key({ user, type: 'Login' })
    const taken = async () => (await send(token, 'GET')).code === 200 || undefined
    await eventually('the gateway takes the key', taken, IN_TIME)
    const uids: string[] = []
    let refusal = ''
    for (let refused = 0; refused < BOUND; ) {
      const made = await make(token)
      if (typeof made === 'string') {
        refusal ||= made
        refused += 1
        continue
      }
      uids.push(made.uid)
      expect((await send(token, 'DELETE', `${PATH}/${made.name}`)).code).toBe(200)
    }
    return { uids, refusal }
  }

  const floods = await Promise.all(Array.from({ length: USERS }, (_, at) => flood(`flood-${at}`)))
  for (const { uids, refusal } of floods) {
    expect(uids.length).toBeGreaterThanOrEqual(BOUND)
    expect(uids.length).toBeLessThanOrEqual(BOUND + UNSEEN)
    expect(refusal).toMatch(
      new RegExp(`max-tokens-per-user.*${BOUND}|${BOUND}.*max-tokens-per-user`),
    )
  }
  const bystander = await front.key({ user: 'bystander', type: 'Login' })
  const usable = async () => (await send(bystander.token, 'GET')).code === 200 || undefined
  await eventually('the gateway takes the key of a bystander', usable, IN_TIME)
  const last = await make(bystander.token)
  if (typeof last === 'string') throw new Error(`a bystander gets no token: ${last}`)
  await send(bystander.token, 'DELETE', `${PATH}/${last.name}`)

  const revoked = [...floods.flatMap(({ uids }) => uids), last.uid].toSorted()
  const listed = async () => {
    const { body } = await ask(`${gateway.url()}/oidc/revoked`, { ca: front.ca })
    const found = Object.keys(JSON.parse(body).tokens).toSorted()
    return found.length >= revoked.length ? found : undefined
  }
  expect(await eventually('all are listed', listed, IN_TIME)).toEqual(revoked)

  const folder = mkdtempSync(join(tmpdir(), 'revocations-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [file, ca] = [join(folder, 'authentication.yaml'), join(folder, 'ca.crt')]
  writeFileSync(file, shipped('authentication'))
  writeFileSync(ca, front.ca)
  const issuer = `${gateway.url()}/oidc`
  const ran = await runScript(['--issuer', issuer, '--file', file, '--ca-file', ca])
  expect(ran).toMatchObject({ code: 0, stderr: '' })
  expect(deniedIn(file).toSorted()).toEqual(revoked)
})
