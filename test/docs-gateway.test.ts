// docs/gateway.md documents exactly the responses, reasons and limits of the gateway, and
// docs/troubleshooting.md its responses and log lines.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { INVALID_KEY_REASONS } from '../src/authn/key-validity.ts'
import { RENEW_AFTER_MS } from '../src/authn/staleness.ts'
import { authorize, parseScope } from '../src/domain/scope/authorize.ts'
import { SCOPE_ROLES } from '../src/domain/scope/roles.ts'
import { ERRORS } from '../src/gateway/errors.ts'
import { LARGE_BODY_LIMITS, LONGEST_YAML } from '../src/gateway/selfservice/decode.ts'
import { LARGEST_OWN } from '../src/gateway/selfservice/object-size.ts'
import { SELF_SERVICE } from '../src/gateway/selfservice/upstream-client.ts'
import { UNREAD_WITHIN_MS } from '../src/gateway/selfservice/watch-events.ts'
import { MAX_IN_TOTAL, MAX_PER_KEY, MAX_PER_USER } from '../src/gateway/streams/max-in-flight.ts'
import { LONGEST_PARSED_BODY, refuse } from '../src/serving/http/answer.ts'
import { LONGEST_HEAD } from '../src/serving/http/malformed-requests.ts'
import { REFUSALS, shownMessage } from '../tools/generate/refusals.ts'
import { rowsIn, sentencesOf } from './support/log-sentences.ts'

const ROOT = join(import.meta.dirname, '..')
const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const PAGE = textOf('docs/gateway.md')
const SIZING = textOf('docs/sizing.md')

const sourcesIn = (folder: string): readonly string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name}`)

describe('docs: the responses of the gateway (10.2, 10.4, 11.1, 12.1, 12.2, 12.4, 13.1, 13.3)', () => {
  const TROUBLESHOOTING = textOf('docs/troubleshooting.md')

  test.each(REFUSALS)('docs/gateway.md has $code $message', (refusal) =>
    expect(PAGE).toContain(shownMessage(refusal)),
  )

  test.each(REFUSALS)(
    '$code $message is answered as a Status of its code and reason',
    (refusal) => {
      const { name, code, reason, message } = refusal
      const places = [...message.matchAll(/<(\w+)>/g)].map(([, place = '']) => [place, 'value'])
      const answer = refuse<'<place>'>(
        refusal as typeof refusal & { message: '<place>' },
        Object.fromEntries(places),
      )
      expect(answer).toMatchObject({ status: code, refusal: name })
      expect(JSON.parse(answer.body.toString())).toEqual({
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: message.replaceAll(/<\w+>/g, 'value'),
        reason,
        code,
      })
    },
  )

  // A 501 has no remedy.
  test.each(REFUSALS.filter(({ code }) => code >= 500 && code !== 501))(
    'docs/troubleshooting.md has a remedy for $code $message',
    (refusal) => {
      expect(refusal.remedy).toBeTruthy()
      expect(TROUBLESHOOTING).toContain(shownMessage(refusal))
    },
  )

  test('a message that extends its entry in the catalogue begins like the one in the docs', () => {
    const { shown } = ERRORS.scopeDenied
    const decision = authorize(parseScope({}), LIST_OF_PODS, {
      projectNamespacePrefix: '',
      roleRules: () => [],
    })
    expect(decision).toMatchObject({
      because: expect.stringContaining(shown.replace(/…$/, '').trim()) as string,
    })
  })

  test('are only made from entries of a catalogue', () => {
    const users = sourcesIn('src').filter((path) =>
      /\b(?:failure|statusAnswer)\b[^']*'\S*answer\.ts'/.test(textOf(path)),
    )
    expect(users).toEqual([])
  })
})

const LIST_OF_PODS = {
  target: { kind: 'Management' },
  verb: 'list',
  group: '',
  version: 'v1',
  resource: 'pods',
  subresource: '',
  namespace: '',
  name: '',
} as const

const [, AFTER = ''] = textOf('docs/troubleshooting.md').split('\n## What the gateway says\n')
const [SECTION = ''] = AFTER.split('\n## ')

describe('docs/troubleshooting.md: what the gateway logs (8.5)', () => {
  const sentences = sentencesOf('src/commands/gateway/command.ts')
  const rows = rowsIn(SECTION)

  test('each warning and each error has a row, and each row has one of them', () =>
    expect(rows.toSorted()).toEqual([...sentences].toSorted()))
})

test('docs/gateway.md: the reasons of refusals are those of the metric (10.3)', () => {
  const [, section = ''] = PAGE.split('## Why a key was refused\n')
  const [table = ''] = section.split('\n## ')
  const listed = [...table.matchAll(/^\| (`.*?) \|/gm)].flatMap(([, names = '']) =>
    names.split(', ').map((name) => name.slice(1, -1)),
  )
  expect(listed.toSorted()).toEqual(
    [...INVALID_KEY_REASONS, 'none', 'twice', 'unavailable'].toSorted(),
  )
})

test('docs/gateway.md, docs/sizing.md: limits are those of the program (13.3)', () => {
  const { request, stream, filteredList: list, filteredWatch: watch } = MAX_PER_KEY
  const ofUser = MAX_PER_USER
  expect(PAGE).toContain(`| path and headers of a request | ${LONGEST_HEAD / 1024} KiB |`)
  expect(PAGE).toContain(
    `| requests of one key at a time, at one gateway | ${request}; ${ofUser.request} of all keys of one user, team or subject |`,
  )
  expect(PAGE).toContain(
    `| streams of one key at a time, at one gateway: watches, logs, upgrades, proxied requests | ${stream}; ${ofUser.stream} of all keys of one user, team or subject |`,
  )
  expect(PAGE).toContain(
    `| ${list} of one key, ${ofUser.filteredList} of one user, ${MAX_IN_TOTAL.filteredList} of all |`,
  )
  expect(PAGE).toContain(
    `| ${watch} of one key, ${ofUser.filteredWatch} of one user, ${MAX_IN_TOTAL.filteredWatch} of all |`,
  )
  const [json, yaml] = [LONGEST_PARSED_BODY / 1024 / 1024, LONGEST_YAML / 1024]
  expect(PAGE).toContain(`| ${json} MiB, and ${yaml} KiB as YAML; other bodies are not read |`)
  expect(PAGE).toContain(`ends when an event waits for ${UNREAD_WITHIN_MS / 1000} s`)
  expect(PAGE).toContain(`and a body that writes it | ${LARGEST_OWN / 1024} KiB; `)
  expect(PAGE).toContain(
    `| ${SELF_SERVICE.ofOne} for one user, team or subject, ${SELF_SERVICE.inAll} for all; `,
  )
  const { aboveBytes, inAll, ofOne } = LARGE_BODY_LIMITS
  expect(PAGE).toContain(`| such bodies above ${aboveBytes / 1024} KiB, `)
  expect(PAGE).toContain(`| ${ofOne} of one user or team at a time, ${inAll} of all; others wait |`)
  expect(SIZING).toContain(
    `at one gateway | ${request} and ${stream} of one key, ${MAX_PER_USER.request} and ${MAX_PER_USER.stream} of all keys of one user`,
  )
})

test('docs/sizing.md: the periodic reads of a gateway (10.4)', () => {
  const seconds = RENEW_AFTER_MS / 1000
  // The Config in force, and the record of what is in force.
  const reads = SCOPE_ROLES.length + 2
  expect(SIZING).toContain(`| ${reads} GETs every ${seconds} s by each replica:`)
})
