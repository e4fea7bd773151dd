// A JSON patch may move entries of a list before a test (contract 12.4; threat X4). Two objects that
// differ only in hidden fields must not be distinguishable by a forwarded patch.
import { describe, expect, test } from 'vitest'
import { CONFIGS } from '../../../../src/api/names.ts'
import { type Json, type JsonMap, isList, isMap } from '../../../../src/domain/json/json.ts'
import { SHOWS_NOTHING, redacted } from '../../../../src/domain/redaction/redact.ts'
import { jsonPatchOf } from '../../../../src/gateway/selfservice/patch.ts'
import { sampled } from '../../../support/tier.ts'

/** Settings with a hidden and a visible field in every list. */
const settings = (secret: string): JsonMap => ({
  auth: {
    connectors: [
      { id: 'one', oidc: { clientId: 'a', clientSecret: `${secret}-1` } },
      { id: 'two', oidc: { clientId: 'b', clientSecret: `${secret}-2` } },
      { id: 'three', saml: { entityIssuer: 'c' } },
    ],
  },
  oidc: {
    clients: [
      { clientId: 'shown' },
      { clientId: 'hidden', clientSecret: `${secret}-3`, redirectURIs: ['https://a/b'] },
    ],
  },
  database: { extraArgs: [`--password=${secret}`, `${secret}-4`] },
  apps: {
    repositories: [
      { name: 'shown', url: 'https://charts.example.com' },
      { name: 'hidden', url: `https://ada:${secret}@charts.example.com`, password: `${secret}-5` },
    ],
  },
  uiSettings: { customCss: ['https://a/b.css', `https://ada:${secret}@a/b.css`] },
})

/** For each list an entry, and its hidden field. */
const LISTS = [
  { list: 'auth/connectors', hidden: 'oidc/clientSecret', count: 3 },
  { list: 'auth/connectors', hidden: 'oidc', count: 3 },
  { list: 'oidc/clients', hidden: 'clientSecret', count: 2 },
  { list: 'database/extraArgs', hidden: '', count: 2 },
  { list: 'apps/repositories', hidden: 'url', count: 2 },
  { list: 'apps/repositories', hidden: 'password', count: 2 },
  { list: 'uiSettings/customCss', hidden: '', count: 2 },
] as const

const config = (secret: string): JsonMap => ({
  kind: 'Config',
  metadata: { resourceVersion: '7', finalizers: ['a/b', 'c/d'] },
  spec: settings(secret),
  status: settings(secret),
})
const [one, other] = [config('first-secret'), config('other-secret')]

/** Applies a patch like the API server: the object, or null when an operation fails. */
function applied(object: JsonMap, operations: readonly Json[]): JsonMap | null {
  const whole = structuredClone(object)
  for (const operation of structuredClone(operations) as unknown as readonly Operation[]) {
    const parts = operation.path.split('/').slice(1)
    const last = parts.pop() ?? ''
    const holder = parts.reduce<Json | undefined>(inside, whole)
    if (holder === undefined || !carriedOut(holder, last, operation)) return null
  }
  return whole
}

interface Operation {
  readonly op: string
  readonly path: string
  readonly value: Json
}

/** For lists the API server also accepts 01 and, from the end, -1. */
function inside(holder: Json | undefined, part: string): Json | undefined {
  if (isList(holder)) return holder.at(Number(part))
  return isMap(holder) ? holder[part] : undefined
}

function carriedOut(holder: Json, last: string, { op, value }: Operation): boolean {
  if (op === 'test') return JSON.stringify(inside(holder, last)) === JSON.stringify(value)
  if (!isList(holder)) {
    if (op === 'remove') delete (holder as Record<string, Json>)[last]
    else (holder as Record<string, Json>)[last] = value
    return true
  }
  const place = last === '-' ? holder.length : Number(last)
  if (place >= holder.length + (op === 'add' ? 1 : 0)) return false
  ;(holder as Json[]).splice(place, op === 'add' ? 0 : 1, ...(op === 'remove' ? [] : [value]))
  return true
}

const read = (object: JsonMap, operations: readonly Json[]) =>
  jsonPatchOf(CONFIGS, operations, object)

/** What a client learns from a patch: the refusal, a failure, or the redacted object. */
function learned(object: JsonMap, operations: readonly Json[]): object {
  const sent = read(object, operations)
  if (!sent.ok)
    return {
      refused: (JSON.parse(sent.answer.body.toString()) as { readonly message: string }).message,
    }
  const result = applied(object, sent.operations)
  return result === null ? { failed: true } : { shown: redacted(CONFIGS, result, SHOWS_NOTHING) }
}

/** Every way to change a list before it is tested. */
const changesOf = (path: string, count: number, entry: Json): readonly Json[] => [
  ...Array.from({ length: count }, (_, at) => ({ op: 'remove', path: `${path}/${at}` })),
  ...Array.from({ length: count + 1 }, (_, at) => ({
    op: 'add',
    path: `${path}/${at}`,
    value: entry,
  })),
  ...Array.from({ length: count }, (_, at) => ({
    op: 'replace',
    path: `${path}/${at}`,
    value: entry,
  })),
  { op: 'add', path: `${path}/-`, value: entry },
  { op: 'remove', path },
  { op: 'replace', path, value: [entry] },
  { op: 'add', path, value: Array.from({ length: count }, () => entry) },
]

/** Indexes of a list that a test may name; the API server accepts more than the gateway. */
const PLACES = ['0', '1', '2', '3', '-1', '-2', '00', '01', '+1', '-', '1e0', '']

/** Every patch of one or two changes of a list, and a test of something in it. */
function patchesOf(part: string, { list, hidden, count }: (typeof LISTS)[number]) {
  const path = `/${part}/${list}`
  const below = hidden === '' ? [] : hidden.split('/')
  const entries = path.split('/').slice(1).reduce<Json | undefined>(inside, one) as readonly Json[]
  const guesses = entries.map((entry) => below.reduce<Json | undefined>(inside, entry) ?? null)
  const changes = [{ id: 'new' }, 'new'].flatMap((entry) => changesOf(path, count, entry))
  const before = [[], ...changes.flatMap((change) => [[change], [change, changes[0] ?? null]])]
  return before.flatMap((changed) =>
    PLACES.flatMap((place) =>
      guesses.map((value) => [
        ...changed,
        { op: 'test', path: [path, place, ...below].join('/'), value },
      ]),
    ),
  )
}

describe.each(['spec', 'status'])('a list with something hidden in %s (12.4, X4)', (part) => {
  test.each(LISTS)('reveals nothing of $hidden of $list after any change', (row) => {
    const patches = sampled(patchesOf(part, row), 13)
    const isSound = patches.map((patch) => {
      const [here, there] = [one, other].map((object) => learned(object, patch))
      expect({ patch, ...here }).toEqual({ patch, ...there })
      return here !== undefined && !('refused' in here)
    })
    expect(isSound).toContain(true)
  })
})
