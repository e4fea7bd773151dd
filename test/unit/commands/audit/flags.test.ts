// The command line of `management-operator audit` (contract 8.1, 22.4).
import { describe, expect, test } from 'vitest'
import { auditFlagsTable, readAuditSettings } from '../../../../src/commands/audit/flags.ts'
import { FILTER_NAMES } from '../../../../src/domain/audit/filters.ts'

const KEY = `pak_${'a'.repeat(43)}_${'b'.repeat(6)}`

const NOW = Date.parse('2026-11-28T13:00:00Z')
const read = (...argv: readonly string[]) => readAuditSettings(argv, NOW)

function settingsOf(...argv: readonly string[]) {
  const invocation = read(...argv)
  if (invocation.kind !== 'run') throw new Error(invocation.text)
  return invocation.settings
}

const refusalOf = (...argv: readonly string[]): string => {
  const invocation = read(...argv)
  return invocation.kind === 'refuse' ? invocation.text : invocation.kind
}

test('each filter is a flag, and goes to the gateway as it was given (22.4)', () => {
  const texts: Readonly<Record<string, string>> = {
    since: '24h',
    until: '2026-11-28T12:00:00Z',
    target: 'Cluster',
    code: '4xx',
    stage: 'ResponseComplete',
    body: 'false',
    limit: '7',
  }
  for (const name of FILTER_NAMES.filter((one) => one !== 'continue')) {
    const text = texts[name] ?? 'x'
    const flag = name === 'auditID' ? '--audit-id' : `--${name}`
    const expected = [[name, text]]
    expect(settingsOf(flag, text).parameters).toEqual(expected)
    expect(settingsOf(`${flag}=${text}`).parameters).toEqual(expected)
  }
  expect(settingsOf().parameters).toEqual([])
  const flags = [...auditFlagsTable().matchAll(/^\| `--([a-z-]+)/gm)].map(([, name]) => name)
  const others = ['output', 'path', 'kubeconfig', 'help']
  expect(flags).toEqual([
    ...FILTER_NAMES.map((name) => (name === 'auditID' ? 'audit-id' : name)),
    ...others,
  ])
})

test('an empty namespace or group is a filter, not a flag that is absent (22.4)', () => {
  const { parameters, query } = settingsOf('--namespace', '', '--group=')
  expect(parameters).toEqual([
    ['namespace', ''],
    ['group', ''],
  ])
  expect([...query.exact]).toEqual(parameters)
})

test('files are asked by the same question (22.4)', () => {
  const { source, query, output } = settingsOf(
    '--path',
    'log',
    '--since=1h',
    '--user=ada',
    '-o',
    'json',
  )
  expect({ source, output }).toEqual({ source: { kind: 'files', path: 'log' }, output: 'json' })
  expect(query).toMatchObject({ interval: { sinceMs: NOW - 3_600_000, untilMs: null }, limit: 100 })
  expect([...query.exact]).toEqual([['user', 'ada']])
})

test('the gateway of the kubeconfig is asked without --path (22.4)', () => {
  expect(settingsOf().source).toEqual({ kind: 'gateway', kubeconfig: null })
  expect(settingsOf('--kubeconfig=k').source).toEqual({ kind: 'gateway', kubeconfig: 'k' })
})

test.each([
  ['-o', 'json'],
  ['-ojson'],
  ['-o=json'],
  ['--output', 'json'],
  ['--output=json'],
  ['--user', 'ada', '-o', 'json'],
])('%s %s asks for JSON (22.4)', (...argv) => {
  expect(settingsOf(...argv).output).toBe('json')
})

test('a value that looks like a flag is a value (22.4)', () => {
  expect(settingsOf('--user', '-o').parameters).toEqual([['user', '-o']])
  expect(settingsOf('--user', '-only').parameters).toEqual([['user', '-only']])
  expect(settingsOf('--name', '--user', '--user', 'ada').parameters).toEqual([
    ['user', 'ada'],
    ['name', '--user'],
  ])
})

describe('a wrong command line is refused in one line that names the valid form (8.1, 22.4)', () => {
  // biome-ignore format: a table
  test.each([
    { argv: [`--key=${KEY}`], says: ['--key is "<hidden>", accepted is the name or the keyID of an access key'] },
    { argv: [KEY], says: ['"<hidden>" is not a flag'] },
    { argv: [`--keys=${KEY}`], says: ['"--keys=<hidden>" is not a flag'] },
    { argv: ['--usr=ada'], says: ['"--usr=ada" is not a flag, accepted are --since, --until, --user,'] },
    { argv: ['ada'], says: ['"ada" is not a flag'] },
    { argv: ['--user', 'ada', '--user', 'bob'], says: ['--user is given twice'] },
    { argv: ['--user=ada', '--user', 'ada'], says: ['--user is given twice'] },
    { argv: ['--audit-id=1', '--audit-id=2'], says: ['--audit-id is given twice'] },
    { argv: ['--user='], says: ['--user is "", accepted is a user name'] },
    { argv: ['--since=yesterday'], says: ['--since is "yesterday", accepted is an RFC 3339 time, or a duration ago such as 15m or 168h'] },
    { argv: ['--since=1h', '--until=2h'], says: ['since is not before until'] },
    { argv: ['--code=abc', '--limit=0', '--body=no', '--stage=x', '--target=y'], says: ['--code is "abc"', '--limit is "0"', '--body is "no"', '--stage is "x"', '--target is "y"'] },
    { argv: ['--continue=x'], says: ['--continue is "x", accepted is metadata.continue'] },
    { argv: ['-o', 'yaml'], says: ['--output is "yaml", accepted is one of table, json'] },
    { argv: ['-o'], says: ['--output lacks its value'] },
    { argv: ['--path=a', '--kubeconfig=b'], says: ['--path and --kubeconfig name two sources'] },
  ])('$argv', ({ argv, says }) => {
    const text = refusalOf(...argv)
    expect(text).toMatch(/^management-operator audit: [^\n]+\n$/)
    for (const part of says) expect(text).toContain(part)
  })

  test('a token of the gateway is no place in files', () => {
    const token = Buffer.from(JSON.stringify([1, 'f', null, null, 1, 2, 3, ''])).toString(
      'base64url',
    )
    expect(refusalOf('--path=a', `--continue=${token}`)).toContain(
      '--continue is for the gateway: with --path, use --until',
    )
  })
})
