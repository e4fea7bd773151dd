// `management-operator audit` asks the gateway of a kubeconfig, page by page (contract 22.4).
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { askGateway } from '../../../../src/commands/audit/gateway-events.ts'
import { toolClientDeps } from '../../../../src/commands/shared/cluster-client.ts'
import { eventListOf } from '../../../../src/domain/audit/event-list.ts'
import { parseAuditQuery } from '../../../../src/domain/audit/query.ts'
import { connect } from '../../../../src/kube/client/connection.ts'
import { numberedEvent } from '../../../support/audit-event-builder.ts'
import { runHere } from '../../../support/command-line.ts'
import { runProgram } from '../../../support/command-process.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { recordAnswered } from '../../../support/recording-server.ts'
import { type Answer, KEY, ask, kubeconfigOf, page } from './asked-gateway.ts'

const folder = mkdtempSync(join(tmpdir(), 'audit-gateway-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** A Status of the gateway. */
const refuse = (response: ServerResponse, code: number, reason: string, message: string): void => {
  const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message }
  response.writeHead(code, { 'content-type': 'application/json' })
  response.end(JSON.stringify(status))
}

const idsOf = (stdout: string): readonly string[] =>
  (JSON.parse(stdout) as { items: readonly { auditID: string }[] }).items.map((one) => one.auditID)

test('the question goes to the path of the server, with the key of the kubeconfig (22.4)', async () => {
  let authorization = ''
  const args = ['--since=24h', '--user', 'ada & co', '--namespace=', '--audit-id=x', '--limit=7']
  const { code, stdout, stderr, asked } = await ask(
    (_, response, request) => {
      authorization = String(request.headers.authorization)
      page(response, [2, 1], null)
    },
    args,
    runProgram,
  )
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^TIME .*\n2026-11-28T12:00:02Z .*\n2026-11-28T12:00:01Z .*\n$/)
  expect(asked).toEqual([
    {
      path: '/kubernetes/management/audit/events',
      parameters: {
        since: '24h',
        user: 'ada & co',
        namespace: '',
        auditID: 'x',
        limit: '7',
        body: 'false',
      },
    },
  ])
  expect(authorization).toBe(`Bearer ${KEY}`)
})

test('pages are followed up to the limit, with the same filters (22.4)', async () => {
  const pages: Readonly<Record<string, readonly number[]>> = {
    first: [9, 8, 7],
    p2: [6],
    p3: [5, 4],
  }
  const next: Readonly<Record<string, string>> = { first: 'p2', p2: 'p3', p3: 'p4' }
  const { code, stdout, stderr, asked } = await ask(
    ({ parameters }, response) => {
      const token = parameters['continue'] ?? 'first'
      page(response, pages[token] ?? [], next[token] ?? null)
    },
    ['--limit=6', '--verb=get', '-o', 'json'],
  )
  expect(code).toBe(0)
  expect(idsOf(stdout)).toEqual(['id-9', 'id-8', 'id-7', 'id-6', 'id-5', 'id-4'])
  expect(JSON.parse(stdout)).toMatchObject({ metadata: { continue: 'p4' } })
  expect(asked.map(({ parameters }) => parameters)).toEqual([
    { verb: 'get', limit: '6' },
    { verb: 'get', limit: '3', continue: 'p2' },
    { verb: 'get', limit: '2', continue: 'p3' },
  ])
  expect(stderr).toBe('There are older events: go on with the same filters and --continue p4\n')
})

test('an empty page is not the last where it has a token (22.4)', async () => {
  const { code, stdout } = await ask(
    ({ parameters }, response) =>
      parameters['continue'] === undefined ? page(response, [], 'p2') : page(response, [1], null),
    ['-o', 'json'],
  )
  expect({ code, ids: idsOf(stdout) }).toEqual({ code: 0, ids: ['id-1'] })
})

test('numbers of bodies keep their digits (21.4)', async () => {
  const event = JSON.stringify(numberedEvent(1, { requestObject: 'N' })).replace(
    '"N"',
    '[1.0e400,-0.0]',
  )
  const { stdout } = await ask(
    (_, response) => response.end(eventListOf([event], null)),
    ['-o', 'json'],
  )
  expect(stdout).toContain('"requestObject":[1.0e400,-0.0]')
})

test('the exit code is 1 without an event (22.4)', async () => {
  const { code, stdout, stderr } = await ask((_, response) => page(response, [], null), [])
  expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: 'No event was found.\n' })
})

describe('a failure is shown as kubectl shows it, and exits with 3 (22.4)', () => {
  const HINT = /is the server of the kubeconfig the management API of the gateway/

  // biome-ignore format: a table
  test.each<{ name: string, answer: Answer, says: RegExp }>([
    { name: 'a refusal', answer: (_, response) => refuse(response, 403, 'Forbidden', 'audit is not yours'), says: /^Error from server \(Forbidden\): audit is not yours\n$/ },
    { name: 'a wrong filter', answer: (_, response) => refuse(response, 400, 'BadRequest', 'the filters are since'), says: /^Error from server \(BadRequest\): the filters are since\n$/ },
    { name: 'no data store', answer: (_, response) => refuse(response, 404, 'NotFound', 'set audit.dataStoreEndpoint'), says: /^Error from server \(NotFound\): set audit\.dataStoreEndpoint\n$/ },
    { name: 'a server that is no gateway', answer: (_, response) => { response.writeHead(404).end('404 page not found') }, says: HINT },
    { name: 'a page of HTML', answer: (_, response) => { response.end('<html>') }, says: HINT },
    { name: 'an answer that is cut', answer: (_, response) => { response.write('{"kind":'); setImmediate(() => response.destroy()) }, says: /^Unable to connect to the server: .+\n$/ },
    { name: 'an answer without end', answer: (_, response) => { const more = (): void => { while (response.write('x'.repeat(65_536))); response.once('drain', more) }; more() }, says: /^error: the answer has more than 32 MiB\n$/ },
    { name: 'empty pages without end', answer: (_, response) => page(response, [], 'next'), says: /^error: the gateway answers empty pages\n$/ },
    { name: 'a message that acts on the terminal', answer: (_, response) => refuse(response, 403, 'Forbidden', '\u001b[2Jno'), says: /^Error from server \(Forbidden\): \\u001b\[2Jno\n$/ },
    { name: 'a query that takes too long', answer: (_, response) => refuse(response, 503, 'ServiceUnavailable', 'within 10 s'), says: /^Error from server \(ServiceUnavailable\): within 10 s\n$/ },
  ])('$name', async ({ answer, says }) => {
    const { code, stdout, stderr } = await ask(answer, [])
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toMatch(says)
    expect(stderr).not.toContain(KEY)
  })

  test('a gateway that is not there, and a certificate of another authority', async () => {
    const path = join(folder, 'unreachable')
    writeFileSync(path, JSON.stringify(JSON.parse(kubeconfigOf('https://127.0.0.1:1', ''))))
    const { code, stderr } = await runHere(['audit', '--kubeconfig', path])
    expect(code).toBe(3)
    expect(stderr).toMatch(/^Unable to connect to the server: .*ECONNREFUSED.*\n$/)
    await using server = await recordAnswered((_, response) => response.end())
    writeFileSync(path, JSON.stringify(JSON.parse(kubeconfigOf(server.url, ''))))
    const refused = await runHere(['audit', '--kubeconfig', path])
    expect(refused.code).toBe(3)
    expect(refused.stderr).toMatch(/^Unable to connect to the server: .*certificate.*\n$/)
  })

  test('an unreadable kubeconfig', async () => {
    const { code, stderr } = await runHere(['audit', '--kubeconfig', join(folder, 'none')])
    expect(code).toBe(3)
    expect(stderr).toMatch(/^error: kubeconfig .* is unreadable: ENOENT\n$/)
  })
})

test('a gateway that does not answer, or not to the end, is given 30 s (22.4)', async () => {
  const begins: Answer = (_, response) => void response.write('{"kind":"EventList",')
  for (const answer of [() => undefined, begins]) {
    const arrived = Promise.withResolvers<void>()
    await using server = await recordAnswered((_, response) => {
      answer({ path: '', parameters: {} }, response, _)
      arrived.resolve()
    })
    const clock = manualClock(0)
    const text = kubeconfigOf(server.url, server.caPem)
    const connection = await connect({ kind: 'value', text }, clock)
    const query = parseAuditQuery([], 0)
    if (query.kind === 'malformed') throw new Error(query.fault)
    const asking = askGateway(toolClientDeps(connection, clock, 'test'), {
      parameters: [],
      query: query.query,
      output: 'json',
    })
    await arrived.promise
    await clock.advance(29_999)
    expect(await Promise.race([asking, Promise.resolve('waits')])).toBe('waits')
    await clock.advance(1)
    expect((await asking).fault).toBe('error: no answer within 30000 ms')
    await connection.close()
  }
})

test('events before a failure are printed, with the token to go on (22.4)', async () => {
  const { code, stdout, stderr } = await ask(
    ({ parameters }, response) =>
      parameters['continue'] === undefined
        ? page(response, [3, 2], 'p2')
        : refuse(response, 503, 'ServiceUnavailable', 'the data store does not answer'),
    ['-o', 'json'],
  )
  expect(code).toBe(3)
  expect(idsOf(stdout)).toEqual(['id-3', 'id-2'])
  expect(JSON.parse(stdout)).toMatchObject({ metadata: { continue: 'p2' } })
  expect(stderr).toBe(
    'Error from server (ServiceUnavailable): the data store does not answer\nThere are older events: go on with the same filters and --continue p2\n',
  )
})

test('a busy gateway is asked again, up to four times in all (22.4)', async () => {
  const busy: Answer = (_, response) => {
    response.setHeader('retry-after', '0')
    refuse(response, 429, 'TooManyRequests', 'four queries are under way')
  }
  const never = await ask(busy, [])
  expect(never.asked).toHaveLength(4)
  expect({ code: never.code, stderr: never.stderr }).toEqual({
    code: 3,
    stderr: 'Error from server (TooManyRequests): four queries are under way\n',
  })
  let attempts = 0
  const soon = await ask((asked, response, request) => {
    attempts += 1
    if (attempts < 3) busy(asked, response, request)
    else page(response, [1], null)
  }, [])
  expect({ code: soon.code, stderr: soon.stderr }).toEqual({ code: 0, stderr: '' })
})

test('a warning of the gateway is shown once, as kubectl shows it, and changes no exit code (22.4)', async () => {
  const { code, stdout, stderr } = await ask(
    ({ parameters }, response) => {
      const own = String.raw`299 - "events of replica \"gateway-0\" alone"`
      response.setHeader('warning', `${own}, 299 - "the key ends soon", 199 - "other"`)
      page(response, [1], parameters['continue'] === undefined ? 'p2' : null)
    },
    ['--limit=2'],
  )
  expect(code).toBe(0)
  expect(stdout).toMatch(/^TIME /)
  expect(stderr).toBe('Warning: events of replica "gateway-0" alone\nWarning: the key ends soon\n')
})

test('an event of the answer that is none is counted, and exits with 3 (22.4)', async () => {
  const events = ['{"kind":"Event"}', JSON.stringify(numberedEvent(1))]
  const { code, stdout, stderr } = await ask(
    (_, response) => response.end(eventListOf(events, null)),
    [],
  )
  expect(code).toBe(3)
  expect(stdout).toMatch(/^TIME .*\n2026-.*\n$/)
  expect(stderr).toBe('error: 1 of the events could not be read\n')
})
