// What docs/gateway.md says of answers, reasons and limits is what the gateway has.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { KEY_REFUSALS } from '../src/credentials/key-verdict.ts'
import { LONGEST_PARSED_BODY } from '../src/gateway/http/body.ts'
import { LONGEST_YAML } from '../src/gateway/keys/sent.ts'
import { MOST_AT_A_TIME } from '../src/gateway/stages/limits.ts'

const ROOT = join(import.meta.dirname, '..')
const PAGE = readFileSync(join(ROOT, 'docs/gateway.md'), 'utf8')

/** What the gateway may say: the sources with each place for a value as an ellipsis. */
const SAID = ['src/gateway', 'src/domain/scope']
  .flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(ROOT, folder, name), 'utf8')),
  )
  .join('\n')
  .replaceAll(/\$\{[^}]*\}/g, '…')

const rows = [...PAGE.matchAll(/^\| (\d{3}) \| (.*?) \|/gm)].flatMap(([, code, messages = '']) =>
  [...messages.matchAll(/`([^`]+)`/g)].map(([, message = '']) => ({ code, message })),
)

describe('docs/gateway.md: answers of the gateway (10.2, 11.1, 13.1, 13.3)', () => {
  test('are listed', () => expect(rows.length).toBeGreaterThan(15))

  test.each(rows.filter(({ message }) => !message.includes('User "ada"')))(
    '$code $message',
    ({ message }) => {
      for (const part of message.split('…').map((one) => one.trim())) expect(SAID).toContain(part)
    },
  )
})

test('docs/gateway.md: the reasons of refusals are those of the metric (10.3)', () => {
  const [, section = ''] = PAGE.split('## Why a key was refused\n')
  const [table = ''] = section.split('\n## ')
  const listed = [...table.matchAll(/^\| (`.*?) \|/gm)].flatMap(([, names = '']) =>
    names.split(', ').map((name) => name.slice(1, -1)),
  )
  expect(listed.toSorted()).toEqual([...KEY_REFUSALS, 'none', 'twice', 'unavailable'].toSorted())
})

test('docs/gateway.md, docs/sizing.md: limits are those of the program (13.3)', () => {
  const { request, stream } = MOST_AT_A_TIME
  expect(PAGE).toContain(`| requests of one key at a time, at one gateway | ${request} |`)
  expect(PAGE).toContain(`| watches of one key at a time, at one gateway | ${stream} |`)
  const [json, yaml] = [LONGEST_PARSED_BODY / 1024 / 1024, LONGEST_YAML / 1024]
  expect(PAGE).toContain(`| ${json} MiB, and ${yaml} KiB as YAML; others are not looked at |`)
  const sizing = readFileSync(join(ROOT, 'docs/sizing.md'), 'utf8')
  expect(sizing).toContain(`at one gateway | ${request} and ${stream},`)
})
